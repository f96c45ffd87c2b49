/** The slot of a hash tag, as the Redis Cluster specification has it: CRC16 (XMODEM) modulo 16384. */
export function hashSlot(tag: string): number {
  let crc = 0;
  for (const byte of Buffer.from(tag)) {
    crc ^= byte << 8;
    for (let bit = 0; bit < 8; bit++) {
      crc = (crc & 0x8000) === 0 ? (crc << 1) & 0xffff : ((crc << 1) ^ 0x1021) & 0xffff;
    }
  }
  return crc % 16_384;
}
