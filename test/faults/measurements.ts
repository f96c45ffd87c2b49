import { appendFileSync } from 'node:fs';

/** A row of the table in docs/failure.md. */
export interface Measurement {
  readonly fault: string;
  /** Rows of the catalogue of faults, such as `RED-02`. */
  readonly ids: readonly string[];
  /** Statuses, where it was asked by HTTP, and sources of answers while it lasted. */
  readonly answers?: string;
  /** Of any request, from the fault until all was well again; absent where nobody was in a hurry. */
  readonly worstMs?: number;
  /** From the fault until nothing but probes was sent; absent where it never came to that. */
  readonly detectedMs?: number;
  /** Of a limit of so many, and how many it may be; absent where nobody asked for that much. */
  readonly admitted?: number;
  readonly limit?: number;
  readonly bound?: number;
  /** From the end of the fault until every process decided in Redis again; absent likewise. */
  readonly recoveredMs?: number;
}

/** For `npm run faults`, which makes the table of them. */
export function record(measurement: Measurement): void {
  const file = process.env['SLUICE_FAULT_REPORT'];
  if (file !== undefined) appendFileSync(file, `${JSON.stringify(measurement)}\n`);
}
