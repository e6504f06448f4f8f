const value = (tag: number, ...parts: Buffer[]): Buffer => {
  const content = Buffer.concat(parts);
  return Buffer.concat([Buffer.from([tag, 0x82, content.length >> 8, content.length & 0xff]), content]);
};

const objectId = (hex: string): Buffer => value(0x06, Buffer.from(hex, "hex"));

/** Makes a signed file of S/MIME (RFC 5652) with this mail inside. It has no signature: none is checked. */
export function signedMail(mail: string): Buffer {
  const inside = value(0x30, objectId("2a864886f70d010701"), value(0xa0, value(0x04, Buffer.from(mail))));
  const data = value(0x30, value(0x02, Buffer.from([1])), value(0x31), inside);
  return value(0x30, objectId("2a864886f70d010702"), value(0xa0, data));
}

/** Makes an encrypted file of S/MIME. */
export const encryptedMail = (encrypted: Buffer): Buffer =>
  value(0x30, objectId("2a864886f70d010703"), value(0xa0, value(0x30, encrypted)));
