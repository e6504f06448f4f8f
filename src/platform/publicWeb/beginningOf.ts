/**
 * The first `most` bytes of an answer's body, which may have no end. `isWhole`: there were no more. What is not read is given up, with its
 * connection. Throws where the body breaks off.
 */
export async function beginningOf(
  body: AsyncIterable<Uint8Array> | null | undefined,
  most: number,
): Promise<{ bytes: Buffer; isWhole: boolean }> {
  const chunks: Uint8Array[] = [];
  let size = 0;
  for await (const chunk of body ?? []) {
    chunks.push(chunk);
    size += chunk.byteLength;
    // Leaving the loop closes the connection.
    if (size > most) break;
  }
  return { bytes: Buffer.concat(chunks).subarray(0, most), isWhole: size <= most };
}
