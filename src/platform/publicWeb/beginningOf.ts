/**
 * Returns the first `most` bytes of a response body, which may be endless. `isWhole`: there were no more. The rest is discarded with its
 * connection. Throws if the body breaks off.
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
