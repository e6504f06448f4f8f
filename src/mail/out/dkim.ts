import { buffer } from "node:stream/consumers";
import DKIM from "nodemailer/lib/dkim";

export type SigningKey = { domain: string; selector: string /** PEM. */; privateKey: string };

/** A mail with a DKIM signature in front, relaxed/relaxed by rsa-sha256. Without a time in it, so that the same mail gives the same bytes. */
export const signMail = (mime: Buffer, { domain, selector, privateKey }: SigningKey): Promise<Buffer> =>
  buffer(new DKIM({ domainName: domain, keySelector: selector, privateKey }).sign(mime));
