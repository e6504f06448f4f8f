/** Port that fetches pictures on the web, which a signature references. */
export type PictureSource = {
  /** Returns the bytes of a file on the public web, at most `maxBytes`; undefined if it cannot be fetched. Never rejects. */
  fetch(url: string, maxBytes: number): Promise<Buffer | undefined>;
  close(): Promise<void>;
};
