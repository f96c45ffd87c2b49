export interface Request {
  /** Method and path: `'GET /search?q=tea'`. */
  readonly line: string;
  readonly apiKey?: string;
  readonly body?: object;
}

export interface Reply {
  readonly status: number;
  readonly body: unknown;
  /** Seconds; undefined when the client was not sent away. */
  readonly retryAfter: number | undefined;
  /** What each tier has left: `"plan";r=99;t=864, "route";r=0;t=6`. */
  readonly rateLimit: string;
  /** From the start of its series to the end of the answer. */
  readonly elapsedMs: number;
}

/** A client of the running app, over HTTP like any other. */
export class Traffic {
  constructor(private readonly url: string) {}

  async inTurn(requests: readonly Request[]): Promise<Reply[]> {
    const startMs = performance.now();
    const replies: Reply[] = [];
    for (const request of requests) replies.push(await this.send(request, startMs));
    return replies;
  }

  async together(requests: readonly Request[]): Promise<Reply[]> {
    const startMs = performance.now();
    return Promise.all(requests.map((request) => this.send(request, startMs)));
  }

  private async send({ line, apiKey, body }: Request, startMs: number): Promise<Reply> {
    const [method, path] = line.split(' ');
    const response = await fetch(`${this.url}${path}`, {
      method,
      headers: {
        ...(apiKey !== undefined && { 'x-api-key': apiKey }),
        ...(body !== undefined && { 'content-type': 'application/json' }),
      },
      body: body === undefined ? null : JSON.stringify(body),
    });
    const retryAfter = response.headers.get('retry-after');
    return {
      status: response.status,
      body: await response.json(),
      retryAfter: retryAfter === null ? undefined : Number(retryAfter),
      rateLimit: response.headers.get('ratelimit') ?? '',
      elapsedMs: performance.now() - startMs,
    };
  }
}

/** So many requests, the given ones by turns. */
export function repeat(count: number, ...requests: readonly Request[]): Request[] {
  return Array.from({ length: count }, (_, index) => requests[index % requests.length]!);
}

export function isRefusal({ status }: Reply): boolean {
  return status === 429;
}

/** Tiers that a RateLimit header tells of. */
export function tiersOf({ rateLimit }: Reply): string[] {
  return [...rateLimit.matchAll(/"(\w+)";r=\d+;t=\d+/g)].map(([, tier = '']) => tier);
}

/** The part of a RateLimit header that is about one tier: `"plan";r=99;t=864`. */
export function toldOf(tier: string, { rateLimit }: Reply): string | undefined {
  return rateLimit.split(', ').find((told) => told.startsWith(`"${tier}";`));
}

/** What a RateLimit header says that a tier has left. */
export function remainingOf(tier: string, reply: Reply): number {
  return Number(/;r=(\d+)/.exec(toldOf(tier, reply) ?? '')?.[1] ?? Number.NaN);
}
