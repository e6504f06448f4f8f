/**
 * A zone of a customer's domain, and how its records have to be judged. `{mechanism}` is our SPF mechanism, `{MECHANISM}` the same in capital
 * letters, `{key}` our DKIM key, `{p}` its base64. What is not given is right.
 */
export type Zone = {
  what: string;
  spf?: string | readonly string[];
  /** MX records besides ours, which has the priority 10. */
  mx?: readonly { exchange: string; priority: number }[];
  dkim?: readonly string[];
  /** TXT records of other names. */
  txt?: Readonly<Record<string, string>>;
  expect: "verified" | "failed" | "temporary_failure";
  reason?: RegExp;
};

const includes = (count: number) => Array.from({ length: count }, (_, n) => `include:ten${n}.example`).join(" ");
const others = Object.fromEntries(
  Array.from({ length: 12 }, (_, n) => [`ten${n}.example`, "v=spf1 ip4:203.0.113.9 -all"]),
);
const many = (count: number) => Array.from({ length: count }, (_, n) => `ip4:203.0.${n >> 8}.${n & 255}`).join(" ");

/** Forms of SPF records as registrars, wizards and people leave them. */
const spf: Zone[] = [
  {
    what: "another provider's include before ours",
    txt: others,
    spf: "v=spf1 include:ten1.example {mechanism} -all",
    expect: "verified",
  },
  { what: "hard fail for the rest", spf: "v=spf1 {mechanism} -all", expect: "verified" },
  { what: "several blanks, and some at the end", spf: "v=spf1   {mechanism}   ~all  ", expect: "verified" },
  {
    what: "our mechanism in a record that is included",
    txt: { "nested.example": "v=spf1 {mechanism} -all" },
    spf: "v=spf1 include:nested.example ~all",
    expect: "verified",
  },
  {
    what: "our mechanism behind a redirect",
    txt: { "onward.example": "v=spf1 {mechanism} -all" },
    spf: "v=spf1 redirect=onward.example",
    expect: "verified",
  },
  { what: "everybody may send", spf: "v=spf1 +all", expect: "verified" },
  {
    what: "an explanation and a modifier that nobody knows",
    spf: "v=spf1 {mechanism} exp=why.example x-note=hello ~all",
    expect: "verified",
  },
  {
    what: "eight includes before ours",
    txt: others,
    spf: `v=spf1 ${includes(8)} {mechanism} ~all`,
    expect: "verified",
  },
  {
    what: "twelve includes before ours",
    txt: others,
    spf: `v=spf1 ${includes(12)} {mechanism} ~all`,
    expect: "failed",
    reason: /permerror: Too many DNS requests/,
  },
  { what: "ours behind all", spf: "v=spf1 -all {mechanism}", expect: "failed", reason: /SPF result fail/ },
  { what: "ours behind ?all", spf: "v=spf1 ?all {mechanism}", expect: "failed", reason: /SPF result neutral/ },
  {
    what: "a redirect beside all",
    txt: { "onward.example": "v=spf1 {mechanism} -all" },
    spf: "v=spf1 redirect=onward.example ~all",
    expect: "failed",
    reason: /SPF result softfail/,
  },
  { what: "ours as a soft fail", spf: "v=spf1 ~{mechanism} -all", expect: "failed", reason: /SPF result softfail/ },
  { what: "ours denied", spf: "v=spf1 -{mechanism} +all", expect: "failed", reason: /SPF result fail/ },
  { what: "ours in another provider's name", spf: "v=spf1 {mechanism}.evil.example ~all", expect: "failed" },
  {
    what: "a fault behind ours",
    spf: "v=spf1 {mechanism} ip4:192.0.2.0/33 ~all",
    expect: "failed",
    reason: /"ip4:192\.0\.2\.0\/33" is not valid/,
  },
  {
    what: "a mechanism that does not exist",
    spf: "v=spf1 {mechanism} ipv4:192.0.2.1 ~all",
    expect: "failed",
    reason: /ipv4/,
  },
  { what: "commas between the terms", spf: "v=spf1, {mechanism}, ~all", expect: "failed", reason: /no SPF record/ },
  { what: "a colon after all", spf: "v=spf1 {mechanism} ~all:", expect: "failed", reason: /permerror/ },
  { what: "a line break in the record", spf: "v=spf1 {mechanism}\n~all", expect: "failed", reason: /permerror/ },
  { what: "a tab between the terms", spf: "v=spf1\t{mechanism} ~all", expect: "failed", reason: /no SPF record/ },
  {
    what: "a hyphen that a word processor made",
    spf: "v=spf1 {mechanism} –all",
    expect: "failed",
    reason: /permerror/,
  },
  { what: "backslashes of a zone file", spf: "v=spf1\\ {mechanism}\\ ~all", expect: "failed", reason: /no SPF record/ },
  {
    what: "two records",
    spf: ["v=spf1 {mechanism} ~all", "v=spf1 include:ten1.example ~all"],
    expect: "failed",
    reason: /2 SPF records/,
  },
  {
    what: "two redirects",
    spf: "v=spf1 {mechanism} redirect=a.example redirect=b.example",
    expect: "failed",
    reason: /redirect=b\.example/,
  },
  {
    what: "an include of a name without SPF before ours",
    spf: "v=spf1 include:nothing.example {mechanism} ~all",
    expect: "failed",
    reason: /permerror/,
  },
  {
    what: "includes that lead back",
    txt: { "loop.example": "v=spf1 include:loop2.example -all", "loop2.example": "v=spf1 include:loop.example -all" },
    spf: "v=spf1 include:loop.example {mechanism} ~all",
    expect: "failed",
    reason: /Too many DNS requests/,
  },
  {
    what: "three names that do not exist before ours",
    spf: "v=spf1 a:no1.example a:no2.example a:no3.example {mechanism} ~all",
    expect: "failed",
    reason: /void/i,
  },
  { what: "a record of 8 KB with ours at its end", spf: `v=spf1 ${many(480)} {mechanism} -all`, expect: "verified" },
  {
    what: "a record of 8 KB without ours",
    spf: `v=spf1 ${many(480)} -all`,
    expect: "failed",
    reason: /SPF result fail/,
  },
  {
    what: "a record of 60 KB with ours at its beginning",
    spf: `v=spf1 {mechanism} ${many(3_500)} -all`,
    expect: "failed",
    reason: /permerror: an SPF record of \d{5} characters is too long/,
  },
  {
    what: "60 KB of other text beside a right record",
    spf: ["x".repeat(55_000), "v=spf1 {mechanism} ~all"],
    expect: "verified",
  },
];

const dkim: Zone[] = [
  { what: "a key without v and k", dkim: ["p={p}"], expect: "verified" },
  { what: "blanks, and a semicolon at the end", dkim: ["v = DKIM1 ; k = rsa ; p = {p} ;"], expect: "verified" },
  { what: "blanks in the key", dkim: ["v=DKIM1; p={p/ }"], expect: "verified" },
  { what: "sha1 and sha256", dkim: ["v=DKIM1; h=sha1 : sha256; p={p}"], expect: "verified" },
  { what: "for all services", dkim: ["v=DKIM1; s=*; p={p}"], expect: "verified" },
  {
    what: "for mail and others, no subdomains",
    dkim: ["v=DKIM1; s=other:email; t=s; n=hello; p={p}"],
    expect: "verified",
  },
  { what: "sha1 alone", dkim: ["v=DKIM1; h=sha1; p={p}"], expect: "failed", reason: /sha256 in h=/ },
  { what: "for another service", dkim: ["v=DKIM1; s=other; p={p}"], expect: "failed", reason: /email in s=/ },
  { what: "a key for tests", dkim: ["v=DKIM1; t=y:s; p={p}"], expect: "failed", reason: /t=y/ },
  { what: "a key of another kind", dkim: ["v=DKIM1; k=ed25519; p={p}"], expect: "failed", reason: /k=ed25519/ },
  { what: "backslashes of a zone file", dkim: ["v=DKIM1\\; k=rsa\\; p={p}"], expect: "failed", reason: /v=DKIM1/ },
  { what: "backslashes without k", dkim: ["v=DKIM1\\; p={p}"], expect: "failed", reason: /v=DKIM1/ },
  { what: "literal quotation marks", dkim: ['"{key}"'], expect: "failed", reason: /tags cannot be read/ },
  { what: "v in small letters", dkim: ["v=dkim1; p={p}"], expect: "failed", reason: /v=DKIM1/ },
  { what: "v at the end", dkim: ["p={p}; v=DKIM1"], expect: "failed", reason: /v=DKIM1/ },
  { what: "p twice", dkim: ["v=DKIM1; p={p}; p={p}"], expect: "failed", reason: /tags cannot be read/ },
  { what: "two semicolons", dkim: ["v=DKIM1;; p={p}"], expect: "failed", reason: /tags cannot be read/ },
  { what: "the key twice", dkim: ["{key}", "{key}"], expect: "failed", reason: /2 TXT records/ },
  {
    what: "another TXT record beside the key",
    dkim: ["{key}", "google-site-verification=x"],
    expect: "failed",
    reason: /2 TXT records/,
  },
  {
    what: "a key cut after 255 characters",
    dkim: ["v=DKIM1; k=rsa; p={p-}"],
    expect: "failed",
    reason: /another DKIM key/,
  },
  { what: "no key", dkim: ["v=DKIM1; k=rsa"], expect: "failed", reason: /no DKIM key/ },
  { what: "a revoked key", dkim: ["v=DKIM1; p="], expect: "failed", reason: /revoked/ },
];

const mx: Zone[] = [
  {
    what: "an old provider of the same preference",
    mx: [{ exchange: "old.example", priority: 10 }],
    expect: "failed",
    reason: /also goes to old\.example, with the same preference 10/,
  },
  {
    what: "two old providers before ours",
    mx: [
      { exchange: "b.example", priority: 1 },
      { exchange: "a.example", priority: 1 },
    ],
    expect: "failed",
    reason: /goes to (a|b)\.example, (a|b)\.example instead, whose preference 1 is before the 10/,
  },
  {
    what: "a null MX beside ours",
    mx: [{ exchange: "", priority: 0 }],
    expect: "failed",
    reason: /goes to \. instead/,
  },
  { what: "ours again as its own backup", mx: [{ exchange: "MX.service.example", priority: 20 }], expect: "verified" },
  {
    what: "two worse providers",
    mx: [
      { exchange: "b.example", priority: 20 },
      { exchange: "c.example", priority: 20 },
    ],
    expect: "verified",
  },
];

export const zones: Record<"spf" | "dkim" | "mx", Zone[]> = { spf, dkim, mx };
