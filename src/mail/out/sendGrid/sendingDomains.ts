import type { ProviderRecord, ProvidersRecord } from "#streams/domain/events.ts";
import { ProviderAway, type ProviderDomain, type ProviderFault, type SendingDomains } from "../sendingDomains.ts";
import { sendGridWebApi, type WebApiAnswer, type WebApiCall, type WebApiOptions } from "./webApi.ts";

export type SendGridDomainsOptions = WebApiOptions & {
  /** URL that inbound mail is posted to; undefined: SendGrid does not deliver our inbound mail. */
  inboundUrl: string | undefined;
  /** Public key of the security policy that signs those posts; undefined: none. */
  inboundPublicKey: string | undefined;
  /** Maximum time in milliseconds for all calls of one operation together (default 12,000): a person may be waiting. */
  patienceMs?: number;
};

const mxPriority = 10;
const maxHostLength = 255;
const maxDataLength = 4_000;

/** SendGrid's records by its names for them: with manual and with automatic setup. */
const recordOf: Record<string, ProvidersRecord> = {
  ...{ domain_spf: "spf", dkim: "dkim", subdomain_spf: "sending", mail_server: "sending" },
  ...{ spf: "spf", dkim1: "dkim", dkim2: "dkim", mail_cname: "sending" },
};

type Dns = Record<string, { type?: unknown; host?: unknown; data?: unknown } | undefined>;
type AuthenticatedDomain = { id: string; domain: unknown; automatic: boolean; dns: Dns };
type CallApi = (call: WebApiCall) => Promise<WebApiAnswer>;

/**
 * Manages domains at SendGrid: authenticated by records in the domain owner's hands (`automatic_security: false`), validated, and with an
 * Inbound Parse setting that posts the raw mail here.
 */
export function sendGridDomains(options: SendGridDomainsOptions): SendingDomains {
  const api = sendGridWebApi(options);
  const { inboundUrl, inboundPublicKey, patienceMs = 12_000 } = options;

  const asking = <T>(question: (ask: CallApi) => Promise<T>): Promise<T> => {
    const signal = AbortSignal.timeout(patienceMs);
    return question((call) => api.call(call, signal));
  };

  return {
    provider: "SendGrid",
    register: (mailDomain) =>
      asking(async (ask) => {
        const found = await authenticated(ask, mailDomain);
        if (found) return asDomain(found, { mailDomain, made: false });
        const body = { domain: mailDomain, automatic_security: false, default: false };
        const { json } = await ask({ method: "POST", path: "/v3/whitelabel/domains", body });
        return asDomain(authenticatedOf(json), { mailDomain, made: true });
      }),
    validate: (id) =>
      asking(async (ask) => {
        const path = `/v3/whitelabel/domains/${encodeURIComponent(id)}/validate`;
        const { status, json } = await ask({ method: "POST", path, answers: [404] });
        return status === 404 ? "unknown" : faultsIn(json);
      }),
    remove: (id) =>
      asking(async (ask) => {
        await ask({ method: "DELETE", path: `/v3/whitelabel/domains/${encodeURIComponent(id)}`, answers: [404] });
      }),
    receive: (mailDomain) =>
      asking(async (ask) => {
        if (inboundUrl === undefined) return;
        const policy = inboundPublicKey === undefined ? undefined : await policyOf(ask, inboundPublicKey);
        await setUp(ask, mailDomain, { url: inboundUrl, policy });
      }),
    stopReceiving: (mailDomain) =>
      asking(async (ask) => {
        if (inboundUrl === undefined) return;
        const path = settingPath(mailDomain);
        const { json } = await ask({ method: "GET", path, answers: [404] });
        // Compared without its secret, which may have changed since the setting was made.
        const { url } = Object(json) as { url?: unknown };
        if (typeof url !== "string" || !url.startsWith(inboundUrl.slice(0, inboundUrl.lastIndexOf("/") + 1))) return;
        await ask({ method: "DELETE", path, answers: [404] });
      }),
    close: () => api.close(),
  };
}

async function authenticated(ask: CallApi, mailDomain: string): Promise<AuthenticatedDomain | undefined> {
  const path = `/v3/whitelabel/domains?limit=50&domain=${encodeURIComponent(mailDomain)}`;
  const { json } = await ask({ method: "GET", path });
  if (!Array.isArray(json)) throw unreadable();
  return json.map(authenticatedOf).find(({ domain, automatic }) => domain === mailDomain && !automatic);
}

function authenticatedOf(json: unknown): AuthenticatedDomain {
  const { id, domain, automatic_security, dns } = Object(json) as Record<string, unknown>;
  if (typeof id !== "number" && typeof id !== "string") throw unreadable();
  return { id: String(id), domain, automatic: automatic_security === true, dns: Object(dns) as Dns };
}

/** Converts its records to ours. The domain's own SPF may be missing; then the return path's senders apply. */
function asDomain(
  { id, dns }: AuthenticatedDomain,
  { mailDomain, made }: { mailDomain: string; made: boolean },
): ProviderDomain {
  const { domain_spf, subdomain_spf, mail_server, dkim } = dns;
  const spf = domain_spf?.data ? domain_spf : subdomain_spf && { ...subdomain_spf, host: mailDomain };
  const records = [
    recordIn("spf", spf),
    recordIn("dkim", dkim),
    recordIn("sending", subdomain_spf),
    ...(mail_server ? [recordIn("sending", mail_server)] : []),
  ];
  return { id, made, records };
}

function recordIn(record: ProvidersRecord, given: Dns[string]): ProviderRecord {
  const { type, host, data } = given ?? {};
  const isMx = String(type).toLowerCase() === "mx";
  if ((!isMx && String(type).toLowerCase() !== "txt") || typeof host !== "string" || typeof data !== "string")
    throw unreadable();
  if (host.length > maxHostLength || data.length > maxDataLength) throw unreadable();
  const value = isMx ? data.replace(/^\d+\s+/, "").replace(/\.$/, "") : data;
  return {
    record,
    type: isMx ? "MX" : "TXT",
    fqdn: host.replace(/\.$/, ""),
    value,
    priority: isMx ? mxPriority : null,
  };
}

function faultsIn(json: unknown): ProviderFault[] {
  const { valid, validation_results: results } = Object(json) as Record<string, unknown>;
  if (typeof valid !== "boolean") throw unreadable();
  if (valid) return [];
  const faults = Object.entries(Object(results) as Record<string, { valid?: unknown; reason?: unknown } | null>)
    .filter(([name, result]) => recordOf[name] && result?.valid === false)
    .map(([name, result]) => ({ record: recordOf[name]!, reason: String(result?.reason ?? "not found valid") }));
  return faults.length > 0 ? faults : [{ record: "sending", reason: "the domain is not found valid" }];
}

async function policyOf(ask: CallApi, publicKey: string): Promise<string> {
  const { json } = await ask({ method: "GET", path: "/v3/user/webhooks/security/policies" });
  const { policies } = Object(json) as { policies?: { id?: unknown; signature?: { public_key?: unknown } }[] };
  const policy = Array.isArray(policies)
    ? policies.find((each) => each?.signature?.public_key === publicKey)
    : undefined;
  if (typeof policy?.id === "string") return policy.id;
  throw new ProviderAway("SendGrid has no security policy with SENDGRID_INBOUND_PUBLIC_KEY");
}

const settingPath = (mailDomain: string): string =>
  `/v3/user/webhooks/parse/settings/${encodeURIComponent(mailDomain)}`;

type InboundSetting = { url: string; policy: string | undefined };

/** Creates or corrects the domain's Inbound Parse setting. A new one accepts its security policy only in a second call. */
async function setUp(ask: CallApi, hostname: string, { url, policy }: InboundSetting): Promise<void> {
  const path = settingPath(hostname);
  const setting = { url, spam_check: false, send_raw: true };
  const there = await ask({ method: "GET", path, answers: [404] });
  if (there.status === 404) {
    const body = { hostname, ...setting };
    await ask({ method: "POST", path: "/v3/user/webhooks/parse/settings", body });
    if (policy === undefined) return;
  } else if (isAsWanted(there.json, { url, policy })) return;
  await ask({ method: "PATCH", path, body: { ...setting, ...(policy && { security_policy: policy }) } });
}

function isAsWanted(json: unknown, { url, policy }: InboundSetting): boolean {
  const { url: there, send_raw, security_policy } = Object(json) as Record<string, unknown>;
  return there === url && send_raw === true && (policy === undefined || security_policy === policy);
}

const unreadable = () => new ProviderAway("SendGrid's answer cannot be read");
