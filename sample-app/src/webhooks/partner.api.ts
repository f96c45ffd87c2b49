import { Injectable } from '@nestjs/common';

export interface PartnerCall {
  readonly orderId: string;
  /** When it came in, on the clock of `performance.now()`. */
  readonly atMs: number;
}

const KEPT_CALLS = 100;

/** Stands for another company's API: it only remembers who called when. */
@Injectable()
export class PartnerApi {
  readonly calls: PartnerCall[] = [];

  receive(orderId: string): void {
    this.calls.push({ orderId, atMs: performance.now() });
    if (this.calls.length > KEPT_CALLS) this.calls.shift();
  }
}
