import type { Resolver } from "../resolver.ts";

export type SpfQuestion = {
  /** Domain of the envelope sender. */
  domain: string;
  /** Address and greeting name of the server that hands the mail over. */
  ip: string;
  helo: string;
  /** Workspace on whose account the evaluation runs. */
  turn: string;
};

/** `reason`: the cause of a permerror, in words. */
export type SpfVerdict = {
  result: "pass" | "fail" | "softfail" | "neutral" | "none" | "temperror" | "permerror";
  reason?: string;
};

/** Port for the evaluation of SPF as receivers do it (RFC 7208, with its limits). Never rejects because of what a zone contains. */
export type SpfEvaluator = (question: SpfQuestion, resolver: Resolver) => Promise<SpfVerdict>;
