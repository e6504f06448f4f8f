import { createHmac, timingSafeEqual } from "node:crypto";

/** CSRF tokens: prove that a form was fetched in this session, because pages of other sites cannot read them. */
export type FormTokens = {
  of(sessionId: string): string;
  isRight(sessionId: string, given: string | null): boolean;
};

/** `key`: a secret of at least 32 bytes, equal in all instances of the service. */
export function formTokens(key: Buffer): FormTokens {
  const of = (sessionId: string) => createHmac("sha256", key).update(`form ${sessionId}`).digest("base64url");
  return {
    of,
    isRight(sessionId, given) {
      const right = Buffer.from(of(sessionId));
      const shown = Buffer.from(given ?? "");
      return shown.length === right.length && timingSafeEqual(shown, right);
    },
  };
}
