import { connect } from 'node:net';

/** Bytes as they are, on a connection of their own; resolves with all that came until it closed. */
export function sendRaw(port: number, bytes: string): Promise<string> {
  return new Promise((resolve, reject) => {
    let answer = '';
    const socket = connect(port, '127.0.0.1', () => void socket.write(bytes, 'latin1'));
    socket.setEncoding('latin1');
    socket.setTimeout(5_000, () => socket.destroy(new Error(`is still open after: ${answer}`)));
    socket.on('data', (chunk: string) => (answer += chunk));
    socket.on('error', reject);
    socket.on('close', () => resolve(answer));
  });
}

/** The status of each answer on a connection, but for those of 1xx. */
export function statusesOf(answers: string): number[] {
  return [...answers.matchAll(/HTTP\/1\.1 ([2-5]\d\d) /g)].map(([, status]) => Number(status));
}
