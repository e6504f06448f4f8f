import type { CommandSettings } from "#src/commands/dependencies.ts";
import type { Config } from "./config.ts";
import { answerLimits } from "./settingKinds.ts";

/** Selects the settings that commands read. */
export const commandSettings = (config: Config): CommandSettings => ({
  sandboxDomain: config.sandboxDomain,
  inboundMxHost: config.inboundMxHost,
  spfInclude: config.spfInclude,
  spfAddresses: config.spfAddresses,
  approvalsFrom: config.approvalsFrom,
  publicUrl: config.publicUrl,
  auditPublic: config.auditPublic,
  auditWitnesses: config.auditWitnesses,
  signUp: config.signUp,
  autoAnswers: answerLimits(config.autoAnswersPerAddress),
  approvalLinkHours: config.approvalLinkHours,
  notifyThrottleSeconds: config.notifyThrottleSeconds,
  domainCheckSeconds: config.domainCheckSeconds,
  barrierTimeoutMs: 5_000,
  slackAllowedHosts: config.slackAllowedHosts,
  slackPressesProven: config.slackSigningSecret !== undefined,
  webhookAllowedHosts: config.webhookAllowedHosts,
});
