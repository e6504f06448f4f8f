/** The smallest picture of each kind that mail may show. */
export const pictures = {
  png: Buffer.from(
    "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==",
    "base64",
  ),
  gif: Buffer.from("R0lGODlhAQABAIAAAAAAAP///yH5BAEAAAAALAAAAAABAAEAAAIBRAA7", "base64"),
  jpeg: Buffer.from("ffd8ffe000104a46494600010100000100010000ffd9", "hex"),
  webp: Buffer.from("524946461a000000574542505650384c0d0000002f00000010071011118888fe0700", "hex"),
};
