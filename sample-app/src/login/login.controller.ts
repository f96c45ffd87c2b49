import { Body, Controller, HttpCode, Post, UnauthorizedException } from '@nestjs/common';
import { RateLimit, SkipRateLimit } from 'nestjs-sluice';

interface Credentials {
  readonly email: string;
  readonly password: string;
}

@Controller('login')
export class LoginController {
  /**
   * Never more than five attempts in any sixty seconds from one address. Nobody's plan pays for
   * logging in.
   */
  @Post()
  @HttpCode(200)
  @RateLimit({ algorithm: 'sliding-window-log', limit: 5, window: '1m', by: 'ip' })
  @SkipRateLimit('plan')
  login(@Body() { email, password }: Partial<Credentials> = {}) {
    if (email !== 'ada@example.com' || password !== 'correct horse') {
      throw new UnauthorizedException();
    }
    return { token: 'a session token' };
  }
}
