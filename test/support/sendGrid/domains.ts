import { judgeBy } from "./description.ts";
import { type MockAnswer, type MockCall, type MockHandlers, problem } from "./mockSendGrid.ts";

const domainBody = judgeBy(
  {
    file: "tsg_domain_authentication_v3.json",
    pointer: "/paths/~1v3~1whitelabel~1domains/post/requestBody/content/application~1json/schema",
  },
  {
    type: "object",
    properties: { domain: { type: "string" }, automatic_security: { type: "boolean" }, default: { type: "boolean" } },
    required: ["domain"],
  },
);
const settingBody = judgeBy(
  { file: "tsg_webhooks_v3.json", pointer: "/components/schemas/ParseSetting" },
  {
    type: "object",
    properties: {
      url: { type: "string" },
      hostname: { type: "string" },
      spam_check: { type: "boolean" },
      send_raw: { type: "boolean" },
    },
  },
);

type MockRecord = { type: string; host: string; data: string; valid: boolean };
export type MockDomain = { id: number; domain: string; automatic_security: boolean; dns: Record<string, MockRecord> };
export type MockSetting = {
  hostname: string;
  url: string;
  send_raw: boolean;
  spam_check: boolean;
  security_policy?: string;
};

/**
 * Mocks the domains, Inbound Parse settings and security policies of an account. `invalid`: faults that a validation reports, by the name
 * of the record; without one everything is valid.
 */
export function mockDomains() {
  const domains = new Map<number, MockDomain>();
  const settings = new Map<string, MockSetting>();
  const policies: { id: string; name: string; signature: { public_key: string } }[] = [];
  const invalid = new Map<string, string>();
  let lastId = 45_373_690;

  const judged = (fault: string | undefined, answer: () => MockAnswer) => (fault ? problem(400, fault) : answer());

  function add(domain: string, { automatic = false } = {}): MockDomain {
    const id = ++lastId;
    const row = (type: string, host: string, data: string): MockRecord => ({ type, host, data, valid: false });
    const at = `em${id % 10_000}.${domain}`;
    const dns: Record<string, MockRecord> = automatic
      ? { mail_cname: row("cname", at, "u7.wl.sendgrid.net"), dkim1: row("cname", `s1._domainkey.${domain}`, "x") }
      : {
          mail_server: row("mx", at, "mx.sendgrid.net."),
          subdomain_spf: row("txt", at, "v=spf1 include:sendgrid.net ~all"),
          domain_spf: row("txt", domain, "v=spf1 include:u7.wl.sendgrid.net -all"),
          dkim: row("txt", `m1._domainkey.${domain}`, `k=rsa; t=s; p=MIGf${id}AQAB`),
        };
    const made = { id, domain, automatic_security: automatic, dns };
    domains.set(id, made);
    return made;
  }

  const withDomain = ({ params }: MockCall, answer: (domain: MockDomain) => MockAnswer): MockAnswer => {
    const domain = domains.get(Number(params.id));
    return domain ? answer(domain) : problem(404, "domain not found");
  };
  const withSetting = ({ params }: MockCall, answer: (setting: MockSetting) => MockAnswer): MockAnswer => {
    const setting = settings.get(String(params.hostname));
    return setting ? answer(setting) : problem(404, "not found");
  };

  const handlers: MockHandlers = {
    "GET /v3/whitelabel/domains": ({ query }) => ({
      status: 200,
      body: [...domains.values()].filter(({ domain }) => domain.includes(query.get("domain") ?? "")),
    }),
    "POST /v3/whitelabel/domains": ({ body }) =>
      judged(domainBody(body), () => ({
        status: 201,
        body: { ...add(body.domain, { automatic: body.automatic_security !== false }), user_id: 7, valid: false },
      })),
    "POST /v3/whitelabel/domains/:id/validate": (call) =>
      withDomain(call, ({ id, dns }) => ({
        status: 200,
        body: {
          id,
          valid: invalid.size === 0,
          validation_results: Object.fromEntries(
            Object.keys(dns).map((name) => [name, { valid: !invalid.has(name), reason: invalid.get(name) ?? null }]),
          ),
        },
      })),
    "DELETE /v3/whitelabel/domains/:id": (call) =>
      withDomain(call, ({ id }) => {
        domains.delete(id);
        return { status: 204 };
      }),
    "POST /v3/user/webhooks/parse/settings": ({ body }) =>
      judged(settingBody(body), () => {
        if (settings.has(body.hostname)) return problem(400, "hostname and url already exist");
        const isAuthenticated = [...domains.values()].some(({ domain }) => body.hostname.endsWith(domain));
        if (!isAuthenticated) return problem(400, "the hostname belongs to no authenticated domain");
        settings.set(body.hostname, body);
        return { status: 201, body };
      }),
    "GET /v3/user/webhooks/parse/settings/:hostname": (call) =>
      withSetting(call, (setting) => ({ status: 200, body: setting })),
    "PATCH /v3/user/webhooks/parse/settings/:hostname": (call) =>
      withSetting(call, (setting) =>
        judged(settingBody(call.body), () => {
          const changed = { ...setting, ...call.body };
          settings.set(setting.hostname, changed);
          return { status: 200, body: changed };
        }),
      ),
    "DELETE /v3/user/webhooks/parse/settings/:hostname": (call) =>
      withSetting(call, ({ hostname }) => {
        settings.delete(hostname);
        return { status: 204 };
      }),
    "GET /v3/user/webhooks/security/policies": () => ({ status: 200, body: { policies } }),
  };
  return { handlers, domains, settings, policies, invalid, add };
}
