import { beginningOf } from "#src/platform/publicWeb/beginningOf.ts";

/** Maximum number of bytes of a response. A usual response has some kilobytes; a hundred updates with long texts fit too. */
const maxBytes = 4 * 1024 * 1024;

/** Makes a fetch that reads at most this many bytes of a response and follows no redirect, which would send the token elsewhere. */
export function boundedFetch(inner: typeof fetch = fetch): typeof fetch {
  return async (input, init) => {
    const response = await inner(input, { ...init, redirect: "error" });
    const { bytes, isWhole } = await beginningOf(response.body, maxBytes);
    if (!isWhole) throw new Error("the answer is too large");
    const text = bytes.toString();
    // The only properties that the library reads.
    return { status: response.status, ok: response.ok, text: async () => text } as Response;
  };
}
