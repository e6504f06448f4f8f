import { beginningOf } from "#src/platform/publicWeb/beginningOf.ts";

/** An answer of Telegram to what we ask is some kilobytes; a hundred updates with long texts are below this. */
const maxBytes = 4 * 1024 * 1024;

/** A fetch that reads at most so many bytes of an answer and follows no redirection, which would carry the token elsewhere. */
export function boundedFetch(inner: typeof fetch = fetch): typeof fetch {
  return async (input, init) => {
    const response = await inner(input, { ...init, redirect: "error" });
    const { bytes, isWhole } = await beginningOf(response.body, maxBytes);
    if (!isWhole) throw new Error("the answer is too large");
    const text = bytes.toString();
    // All that the library looks at.
    return { status: response.status, ok: response.ok, text: async () => text } as Response;
  };
}
