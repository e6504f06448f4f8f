export type Signature = {
  /** d=, and s= (default "s1"). */
  by: string;
  selector?: string;
  /** h= (default From, To, Subject, Date, Message-ID). */
  fields?: string;
  /** l= */
  length?: number;
  /** x=, relative to when it was signed, in seconds. */
  expiresAfter?: number;
  algorithm?: string;
  canonicalization?: string;
  /** Signed with a key that is not the one in DNS. */
  forged?: true;
};

export type Case = {
  name: string;
  from?: string;
  /** The envelope's sender. The client's address passes every SPF record of these tests unless `ip` is given. */
  envelope?: string;
  ip?: string;
  /** The signatures in the order in which they were added: the last is at the top. */
  signed?: Signature[];
  /** A change to the mail after it was signed. */
  changed?: (mail: string) => string;
  /** An ARC seal of this domain, added last, with these results. */
  sealed?: { by: string; says: string };
  found: string;
};

export const good = "192.0.2.1";
const stranger = "198.51.100.9";

/**
 * One line a case: "SPF DKIM DMARC ARC → proven or not". Domains: `relaxed.test` and the like have the policy of their name; each has SPF for
 * 192.0.2.1 and a key s1, and so has each of its children `mail.`, `news.` and `a.b.`.
 */
export const cases: Record<string, Case[]> = {
  "relaxed alignment": [
    { name: "DKIM of the domain", signed: [{ by: "relaxed.test" }], found: "none pass pass none → proven" },
    { name: "DKIM of a child", signed: [{ by: "mail.relaxed.test" }], found: "none pass pass none → proven" },
    {
      name: "DKIM of a grandchild",
      signed: [{ by: "a.b.relaxed.test" }],
      found: "none pass pass none → proven",
    },
    {
      name: "DKIM of the parent, From a child",
      from: "ann@news.relaxed.test",
      signed: [{ by: "relaxed.test" }],
      found: "none pass pass none → proven",
    },
    {
      name: "DKIM of a sibling",
      from: "ann@news.relaxed.test",
      signed: [{ by: "mail.relaxed.test" }],
      found: "none pass pass none → proven",
    },
    { name: "DKIM in capital letters", signed: [{ by: "RELAXED.test" }], found: "none pass pass none → proven" },
    { name: "DKIM of a stranger", signed: [{ by: "evil.test" }], found: "none pass fail none → not" },
    { name: "DKIM of a name that ends alike", signed: [{ by: "notrelaxed.test" }], found: "none pass fail none → not" },
    { name: "SPF of the domain", envelope: "ann@relaxed.test", found: "pass none pass none → proven" },
    { name: "SPF of a child", envelope: "bounces@mail.relaxed.test", found: "pass none pass none → proven" },
    {
      name: "SPF of the parent, From a child",
      from: "ann@news.relaxed.test",
      envelope: "ann@relaxed.test",
      found: "pass none pass none → proven",
    },
    { name: "SPF of a stranger", envelope: "eve@evil.test", found: "pass none fail none → not" },
    {
      name: "SPF of the domain, sent from elsewhere",
      envelope: "ann@relaxed.test",
      ip: stranger,
      found: "fail none fail none → not",
    },
    { name: "nothing at all", found: "none none fail none → not" },
  ],
  "strict alignment": [
    {
      name: "DKIM of the domain",
      from: "ann@strict.test",
      signed: [{ by: "strict.test" }],
      found: "none pass pass none → proven",
    },
    {
      name: "DKIM of a child",
      from: "ann@strict.test",
      signed: [{ by: "mail.strict.test" }],
      found: "none pass fail none → not",
    },
    {
      name: "DKIM of the parent, From a child",
      from: "ann@news.strict.test",
      signed: [{ by: "strict.test" }],
      found: "none pass fail none → not",
    },
    {
      name: "DKIM of a sibling",
      from: "ann@news.strict.test",
      signed: [{ by: "mail.strict.test" }],
      found: "none pass fail none → not",
    },
    {
      name: "DKIM of the child itself",
      from: "ann@news.strict.test",
      signed: [{ by: "news.strict.test" }],
      found: "none pass pass none → proven",
    },
    {
      name: "SPF of the domain",
      from: "ann@strict.test",
      envelope: "ann@strict.test",
      found: "pass none pass none → proven",
    },
    {
      name: "SPF of a child",
      from: "ann@strict.test",
      envelope: "b@mail.strict.test",
      found: "pass none fail none → not",
    },
    {
      name: "DKIM strict alone: SPF of a child",
      from: "ann@strictdkim.test",
      envelope: "b@mail.strictdkim.test",
      found: "pass none pass none → proven",
    },
    {
      name: "DKIM strict alone: DKIM of a child",
      from: "ann@strictdkim.test",
      signed: [{ by: "mail.strictdkim.test" }],
      found: "none pass fail none → not",
    },
    {
      name: "SPF strict alone: SPF of a child",
      from: "ann@strictspf.test",
      envelope: "b@mail.strictspf.test",
      found: "pass none fail none → not",
    },
    {
      name: "SPF strict alone: DKIM of a child",
      from: "ann@strictspf.test",
      signed: [{ by: "mail.strictspf.test" }],
      found: "none pass pass none → proven",
    },
  ],
  "the policy that counts": [
    { name: "p=none, nothing", from: "ann@pnone.test", found: "none none fail none → not" },
    {
      name: "p=none, DKIM",
      from: "ann@pnone.test",
      signed: [{ by: "pnone.test" }],
      found: "none pass pass none → proven",
    },
    { name: "p=quarantine, nothing", from: "ann@quarantine.test", found: "none none fail none → not" },
    {
      name: "p=quarantine, SPF",
      from: "ann@quarantine.test",
      envelope: "ann@quarantine.test",
      found: "pass none pass none → proven",
    },
    { name: "sp=none for a child, nothing", from: "ann@news.subnone.test", found: "none none fail none → not" },
    {
      name: "sp=reject for a child, DKIM of the parent",
      from: "ann@news.subreject.test",
      signed: [{ by: "subreject.test" }],
      found: "none pass pass none → proven",
    },
    {
      name: "a child's own record before the parent's: strict",
      from: "ann@own.relaxed.test",
      signed: [{ by: "relaxed.test" }],
      found: "none pass fail none → not",
    },
    { name: "pct=0, nothing", from: "ann@pct.test", found: "none none fail none → not" },
    {
      name: "no record, DKIM of the domain",
      from: "ann@nodmarc.test",
      signed: [{ by: "nodmarc.test" }],
      found: "none pass none none → proven",
    },
    {
      name: "no record, DKIM of a child: nothing says that both are one organization",
      from: "ann@nodmarc.test",
      signed: [{ by: "mail.nodmarc.test" }],
      found: "none pass none none → not",
    },
    {
      name: "no record, SPF of the domain",
      from: "ann@nodmarc.test",
      envelope: "ann@nodmarc.test",
      found: "pass none none none → proven",
    },
    {
      name: "no record, DKIM of a stranger",
      from: "ann@nodmarc.test",
      signed: [{ by: "evil.test" }],
      found: "none pass none none → not",
    },
    { name: "two records are none", from: "ann@two.test", found: "none none none none → not" },
    { name: "a record of another kind is none", from: "ann@otherkind.test", found: "none none none none → not" },
    { name: "a record in small letters is none", from: "ann@small.test", found: "none none none none → not" },
    { name: "a record in quotation marks is none", from: "ann@quoted.test", found: "none none none none → not" },
    { name: "a record without p is p=none", from: "ann@nop.test", found: "none none fail none → not" },
    { name: "an unreadable p is no policy", from: "ann@badp.test", found: "none none none none → not" },
    { name: "an unreadable sp is no policy", from: "ann@badsp.test", found: "none none none none → not" },
    { name: "an unreadable p with rua is p=none", from: "ann@badprua.test", found: "none none fail none → not" },
    { name: "t=y, nothing", from: "ann@testing.test", found: "none none fail none → not" },
    {
      name: "np=reject for a child, SPF of the parent",
      from: "ann@news.np.test",
      envelope: "ann@np.test",
      found: "pass none pass none → proven",
    },
    {
      name: "DNS does not say: DKIM",
      from: "ann@dmarcfails.test",
      signed: [{ by: "dmarcfails.test" }],
      found: "none pass temperror none → not",
    },
  ],
  "the organizational domain": [
    {
      name: "a public suffix's policy, DKIM of the domain",
      from: "ann@one.suffix.test",
      signed: [{ by: "one.suffix.test" }],
      found: "none pass pass none → proven",
    },
    { name: "a public suffix's policy, nothing", from: "ann@one.suffix.test", found: "none none fail none → not" },
    {
      name: "a public suffix's policy, DKIM of a neighbour",
      from: "ann@one.suffix.test",
      signed: [{ by: "two.suffix.test" }],
      found: "none pass fail none → not",
    },
    {
      name: "a public suffix's policy, SPF of the suffix",
      from: "ann@one.suffix.test",
      envelope: "ann@suffix.test",
      found: "pass none fail none → not",
    },
    {
      name: "a public suffix's policy, DKIM of a sibling in one organization",
      from: "ann@news.one.suffix.test",
      signed: [{ by: "mail.one.suffix.test" }],
      found: "none pass pass none → proven",
    },
    {
      name: "a public suffix's own mail",
      from: "ann@suffix.test",
      signed: [{ by: "suffix.test" }],
      found: "none pass pass none → proven",
    },
    {
      name: "a neighbour with a policy of its own under a public suffix",
      from: "ann@three.suffix.test",
      signed: [{ by: "one.suffix.test" }],
      found: "none pass fail none → not",
    },
    {
      name: "a suffix without psd=y is an organization",
      from: "ann@some.co.uk",
      signed: [{ by: "co.uk" }],
      found: "none pass pass none → proven",
    },
    {
      name: "psd=n: DKIM of a sibling in the unit",
      from: "ann@news.unit.big.test",
      signed: [{ by: "mail.unit.big.test" }],
      found: "none pass pass none → proven",
    },
    {
      name: "psd=n: DKIM of the domain above the unit",
      from: "ann@news.unit.big.test",
      signed: [{ by: "big.test" }],
      found: "none pass fail none → not",
    },
    {
      name: "psd=n: DKIM of the unit, From the domain above",
      from: "ann@big.test",
      signed: [{ by: "unit.big.test" }],
      found: "none pass fail none → not",
    },
    {
      name: "two records on the way up: the shortest name is the organization",
      from: "ann@news.middle.big.test",
      signed: [{ by: "mail.big.test" }],
      found: "none pass pass none → proven",
    },
    {
      name: "the policy is the organization's, not that of a name in between",
      from: "ann@news.own.relaxed.test",
      signed: [{ by: "relaxed.test" }],
      found: "none pass pass none → proven",
    },
    {
      name: "ten labels: the walk skips names, and so a strict policy in between",
      from: "ann@1.2.3.4.5.6.7.8.deep.test",
      signed: [{ by: "deep.test" }],
      found: "none pass pass none → proven",
    },
    {
      name: "DNS does not say a name on the way up",
      from: "ann@a.b.dmarcfails.test",
      signed: [{ by: "a.b.dmarcfails.test" }],
      found: "none pass temperror none → not",
    },
    {
      name: "DNS does not say the organization of the signer",
      from: "ann@upfails.test",
      signed: [{ by: "news.upfails.test" }],
      found: "none pass temperror none → not",
    },
    {
      name: "DNS does not say the organization of one signer of two",
      from: "ann@upfails.test",
      signed: [{ by: "news.upfails.test" }, { by: "upfails.test" }],
      found: "none pass pass none → proven",
    },
  ],
  signatures: [
    {
      name: "two, one broken",
      signed: [{ by: "relaxed.test", forged: true }, { by: "relaxed.test" }],
      found: "none pass pass none → proven",
    },
    {
      name: "two, the stranger's good, the domain's broken",
      signed: [{ by: "relaxed.test", forged: true }, { by: "evil.test" }],
      found: "none pass fail none → not",
    },
    { name: "forged", signed: [{ by: "relaxed.test", forged: true }], found: "none fail fail none → not" },
    {
      name: "l= over all of the body",
      signed: [{ by: "relaxed.test", length: 14 }],
      found: "none pass pass none → proven",
    },
    {
      name: "l= and more added below",
      signed: [{ by: "relaxed.test", length: 14 }],
      changed: (mail) => `${mail}Send the money to Eve.\r\n`,
      found: "none neutral fail none → not",
    },
    { name: "l= over one byte", signed: [{ by: "relaxed.test", length: 1 }], found: "none neutral fail none → not" },
    { name: "expired", signed: [{ by: "relaxed.test", expiresAfter: -60 }], found: "none neutral fail none → not" },
    {
      name: "not yet expired",
      signed: [{ by: "relaxed.test", expiresAfter: 3600 }],
      found: "none pass pass none → proven",
    },
    {
      name: "From not signed",
      signed: [{ by: "relaxed.test", fields: "To:Subject" }],
      found: "none permerror fail none → not",
    },
    {
      name: "by SHA-1",
      signed: [{ by: "relaxed.test", algorithm: "rsa-sha1" }],
      found: "none neutral fail none → not",
    },
    {
      name: "no key in DNS",
      signed: [{ by: "relaxed.test", selector: "nowhere" }],
      found: "none neutral fail none → not",
    },
    {
      name: "a revoked key",
      signed: [{ by: "relaxed.test", selector: "revoked" }],
      found: "none neutral fail none → not",
    },
    {
      name: "a key that is none",
      signed: [{ by: "relaxed.test", selector: "garbage" }],
      found: "none neutral fail none → not",
    },
    {
      name: "DNS does not say the key",
      signed: [{ by: "relaxed.test", selector: "silent" }],
      found: "none temperror temperror none → not",
    },
    {
      name: "DNS does not say a stranger's key",
      signed: [{ by: "evil.test", selector: "silent" }],
      found: "none temperror fail none → not",
    },
  ],
  SPF: [
    {
      name: "~all",
      envelope: "ann@soft.test",
      ip: stranger,
      from: "ann@soft.test",
      found: "softfail none fail none → not",
    },
    {
      name: "?all",
      envelope: "ann@neutral.test",
      ip: stranger,
      from: "ann@neutral.test",
      found: "neutral none fail none → not",
    },
    {
      name: "+all",
      envelope: "ann@everybody.test",
      ip: stranger,
      from: "ann@everybody.test",
      found: "pass none pass none → proven",
    },
    { name: "no record", envelope: "ann@nospf.test", from: "ann@nospf.test", found: "none none fail none → not" },
    {
      name: "two records",
      envelope: "ann@twospf.test",
      from: "ann@twospf.test",
      found: "permerror none fail none → not",
    },
    {
      name: "a record nobody understands",
      envelope: "ann@wrongspf.test",
      from: "ann@wrongspf.test",
      found: "permerror none fail none → not",
    },
    ...[
      ["a fault behind the mechanism that matches", "faultbehind"],
      ["a fault in an included record, behind what matches", "faultincluded"],
      ["an IPv6 address in ip4", "sixinfour"],
      ["two redirects", "redirects"],
      ["ten look-ups and one more", "eleven"],
    ].map(([name, domain]) => ({
      name: name as string,
      envelope: `ann@${domain}.test`,
      from: `ann@${domain}.test`,
      found: "permerror none fail none → not",
    })),
    ...[
      ["capital letters and a final dot", "capitals"],
      ["redirect in capital letters", "redirected"],
      ["an unknown modifier without a value", "modifier"],
      ["%{d} in an included record means that record's domain", "macro"],
      ["blanks at the end", "blanks"],
    ].map(([name, domain]) => ({
      name: name as string,
      envelope: `ann@${domain}.test`,
      from: `ann@${domain}.test`,
      found: "pass none pass none → proven",
    })),
    {
      name: "a record that begins with a blank is none",
      envelope: "ann@blankfirst.test",
      from: "ann@blankfirst.test",
      found: "none none fail none → not",
    },
    {
      name: "DNS does not say an included record",
      envelope: "ann@includefails.test",
      from: "ann@includefails.test",
      found: "temperror none temperror none → not",
    },
    {
      name: "includes itself for ever",
      envelope: "ann@loop.test",
      from: "ann@loop.test",
      found: "permerror none fail none → not",
    },
    {
      name: "DNS does not say",
      envelope: "ann@spffails.test",
      from: "ann@spffails.test",
      found: "temperror none temperror none → not",
    },
    {
      name: "DNS does not say, DKIM does",
      envelope: "ann@spffails.test",
      from: "ann@spffails.test",
      signed: [{ by: "spffails.test" }],
      found: "temperror pass pass none → proven",
    },
  ],
  "on its way": [
    {
      name: "forwarded untouched: SPF breaks, DKIM holds",
      envelope: "ann@relaxed.test",
      ip: stranger,
      signed: [{ by: "relaxed.test" }],
      found: "fail pass pass none → proven",
    },
    {
      name: "forwarded with a rewritten envelope, unsigned",
      envelope: "SRS0=x=relaxed.test=ann@evil.test",
      found: "pass none fail none → not",
    },
    {
      name: "other line ends and blanks, relaxed canonicalization",
      signed: [{ by: "relaxed.test", canonicalization: "relaxed/relaxed" }],
      changed: (mail) =>
        mail.replace("Subject: My order", "SUBJECT:   My  order").replace("Where is it?", "Where  is it?  "),
      found: "none pass pass none → proven",
    },
    {
      name: "other blanks, simple canonicalization",
      signed: [{ by: "relaxed.test", canonicalization: "simple/simple" }],
      changed: (mail) => mail.replace("Subject: My order", "Subject:  My order"),
      found: "none fail fail none → not",
    },
    {
      name: "a list's footer",
      signed: [{ by: "relaxed.test" }],
      changed: (mail) => `${mail}-- \r\nTo unsubscribe write to the list\r\n`,
      found: "none fail fail none → not",
    },
    {
      name: "a list's subject tag, the list's own signature on top",
      envelope: "list-bounces@list.test",
      signed: [{ by: "relaxed.test" }],
      changed: (mail) => mail.replace("\r\nSubject: ", "\r\nSubject: [list] "),
      found: "pass fail fail none → not",
    },
    {
      name: "a list that rewrites From to its own",
      from: "ann.relaxed.test@list.test",
      envelope: "list-bounces@list.test",
      signed: [{ by: "list.test" }],
      found: "pass pass pass none → proven",
    },
    {
      name: "a list's footer, sealed by a list that swears to dmarc=pass: ARC is no proof",
      signed: [{ by: "relaxed.test" }],
      changed: (mail) => `${mail}-- \r\nfooter\r\n`,
      sealed: { by: "list.test", says: "list.test; dmarc=pass header.from=relaxed.test" },
      found: "none fail fail pass → not",
    },
    {
      name: "never signed, sealed by somebody who swears to dmarc=pass",
      sealed: {
        by: "evil.test",
        says: "evil.test; dkim=pass header.d=relaxed.test; dmarc=pass header.from=relaxed.test",
      },
      found: "none none fail pass → not",
    },
    {
      name: "a chain that is broken, DKIM holds",
      signed: [{ by: "relaxed.test" }],
      sealed: { by: "nokey.test", says: "nokey.test; dmarc=pass" },
      found: "none pass pass fail → proven",
    },
  ],
  forgeries: [
    {
      name: "a second From above",
      signed: [{ by: "relaxed.test" }],
      changed: (mail) => `From: Boss <boss@relaxed.test>\r\n${mail}`,
      found: "none pass permerror none → not",
    },
    {
      name: "a second From below",
      signed: [{ by: "relaxed.test" }],
      changed: (mail) => mail.replace("\r\nSubject:", "\r\nFrom: Boss <boss@relaxed.test>\r\nSubject:"),
      found: "none fail permerror none → not",
    },
    {
      name: "two senders in one From",
      from: "ann@relaxed.test, eve@evil.test",
      signed: [{ by: "relaxed.test" }],
      found: "none pass permerror none → not",
    },
    {
      name: "another's display name: the address counts",
      from: '"ann@relaxed.test" <eve@evil.test>',
      signed: [{ by: "relaxed.test" }],
      found: "none pass fail none → not",
    },
    {
      name: "results of its own in the header",
      changed: (mail) => `Authentication-Results: mx.agents.test; dmarc=pass header.from=relaxed.test\r\n${mail}`,
      found: "none none fail none → not",
    },
    {
      name: "a signature replayed under another subject",
      signed: [{ by: "relaxed.test" }],
      changed: (mail) => mail.replace("Subject: My order", "Subject: Pay now"),
      found: "none fail fail none → not",
    },
  ],
};
