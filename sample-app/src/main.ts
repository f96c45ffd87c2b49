import { NestFactory } from '@nestjs/core';
import { AppModule } from './app.module.js';

async function main(): Promise<void> {
  const app = await NestFactory.create(AppModule);
  app.enableShutdownHooks();
  await app.listen(process.env.PORT ?? 3000);
  const url = (await app.getUrl()).replace('[::1]', 'localhost');
  console.log(`
Listening on ${url}, counters ${process.env.REDIS_URL ? 'in Redis' : 'in this process'}. Try:

  curl -i -H 'x-api-key: demo-free-key' ${url}/usage
  curl -i -H 'x-api-key: demo-pro-key' '${url}/search?q=tea'
  for i in 1 2 3 4 5; do curl -s -o /dev/null -w '%{http_code} ' '${url}/search?q=tea'; done; echo
  curl -i -X POST -H 'x-api-key: demo-pro-key' ${url}/exports/csv
  seq 3 | xargs -P3 -I{} curl -s -o /dev/null -w '%{time_total}\\n' ${url}/reports/preview
`);
}

void main();
