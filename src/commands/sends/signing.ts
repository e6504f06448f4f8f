import { signMail } from "#src/mail/out/dkim.ts";
import type { Dependencies } from "../dependencies.ts";
import { dkimKeyOwner, domainOfIdentity } from "../domains/domains.ts";

/**
 * Adds the DKIM signature of the identity's domain to a mail. Returns the mail unchanged for the sandbox domain, which has no key.
 * Deterministic: signing the same mail again gives the same bytes.
 */
export async function signWithDkim(deps: Dependencies, identityId: string, mime: Buffer): Promise<Buffer> {
  const { state: identity } = await deps.identities.load(identityId);
  const loaded = await domainOfIdentity(deps, identity);
  if (!loaded) return mime;
  const { state: domain } = loaded;
  const privateKey = deps.keyRing.open(domain.privateKey, dkimKeyOwner(domain.workspaceId));
  return signMail(mime, { domain: domain.mailDomain, selector: domain.selector, privateKey });
}
