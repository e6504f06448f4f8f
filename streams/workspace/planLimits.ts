import type { Plan } from "./events.ts";

export type PlanLimits = {
  emailsPerPeriod: number;
  inboundPerPeriod: number;
  identities: number;
  rules: number;
  domains: number;
};

/** Limits of each plan. Mails are counted by period, the rest at any one time. */
export const planLimits: Record<Plan, PlanLimits> = {
  builder_pack: { emailsPerPeriod: 50, inboundPerPeriod: 50, identities: 1, rules: 0, domains: 1 },
  pro: { emailsPerPeriod: 5_000, inboundPerPeriod: 10_000, identities: 10, rules: 25, domains: 3 },
  agency: { emailsPerPeriod: 15_000, inboundPerPeriod: 30_000, identities: 50, rules: 100, domains: 10 },
};
