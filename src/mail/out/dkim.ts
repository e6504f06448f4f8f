import { buffer } from "node:stream/consumers";
import DKIM from "nodemailer/lib/dkim";

export type SigningKey = { domain: string; selector: string /** PEM. */; privateKey: string };

/**
 * Puts a DKIM signature in front of a mail, relaxed/relaxed by rsa-sha256. The signature contains no time, so the same mail always gives
 * the same bytes.
 */
export const signMail = (mime: Buffer, { domain, selector, privateKey }: SigningKey): Promise<Buffer> =>
  buffer(new DKIM({ domainName: domain, keySelector: selector, privateKey }).sign(mime));
