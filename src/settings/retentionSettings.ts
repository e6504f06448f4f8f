import { Days } from "./settingKinds.ts";

/** One step of a chain of causes may wait this long: SMTP_RETRY_SECONDS allows pauses of 30 days. */
const leastDaysOfEvaluations = 30;
/** A hand-over and its confirmation take two days at most: HAND_OVER_SECONDS, DELIVERY_CONFIRM_SECONDS. */
const leastDaysOfOutbox = 3;

/** The settings of retention: a part of src/settings/settings.ts. */
export const retentionSettings = {
  RETENTION_DAYS_HELD: Days({
    default: "never",
    description:
      "After how many days the content of a held mail is removed if nothing releases it; it is not released any more.",
  }),
  RETENTION_DAYS_QUARANTINED: Days({
    default: "never",
    description: "After how many days the content of a quarantined mail is removed; its headers stay on its thread.",
  }),
  RETENTION_DAYS_EVALUATIONS: Days({
    default: "never",
    atLeast: leastDaysOfEvaluations,
    description: `After how many days evaluations of rules are removed from their list; at least ${leastDaysOfEvaluations}, because they also keep a rule from running twice about one draft in a chain of causes.`,
  }),
  RETENTION_DAYS_OUTBOX: Days({
    default: 30,
    atLeast: leastDaysOfOutbox,
    description: `After how many days caught mail is removed from /outbox; at least ${leastDaysOfOutbox}, because a send of unknown outcome is looked up there.`,
  }),
};
