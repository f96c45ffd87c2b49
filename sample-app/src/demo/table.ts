/** Prints rows under a heading, columns as wide as their widest cell. */
export function printTable(
  heading: readonly string[],
  rows: readonly (readonly (string | number)[])[],
): void {
  const lines = [heading, ...rows].map((row) => row.map(String));
  const widths = heading.map((_, column) =>
    Math.max(...lines.map((line) => line[column]?.length ?? 0)),
  );
  lines.splice(
    1,
    0,
    widths.map((width) => '-'.repeat(width)),
  );
  for (const line of lines) {
    console.log(
      line
        .map((cell, column) => cell.padEnd(widths[column] ?? 0))
        .join('  ')
        .trimEnd(),
    );
  }
}
