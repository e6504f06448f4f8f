/** Pictures on the web, as a signature names them. */
export type PictureSource = {
  /** The bytes of a file on the public web, at most `maxBytes`; undefined if it is not to be had. Never rejects. */
  fetch(url: string, maxBytes: number): Promise<Buffer | undefined>;
  close(): Promise<void>;
};
