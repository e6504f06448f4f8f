import type { DraftLife } from "./life.ts";

/** A place where a content hash is recorded: stage, version and time. */
export type HashStage = { stage: "approved" | "queued" | "handed over"; version: number; sha256: string; at: string };

/** Returns the recorded content hashes from the approval to the hand-over, as far as it got. */
export function hashStages({
  authorisation,
  queued,
  handover,
}: Pick<DraftLife, "authorisation" | "queued" | "handover">): HashStage[] {
  const started = "started" in handover ? handover.started : null;
  return [
    ...(authorisation ? [stageOf("approved", authorisation)] : []),
    ...(queued ? [stageOf("queued", queued)] : []),
    ...(started ? [stageOf("handed over", started)] : []),
  ];
}

const stageOf = (
  stage: HashStage["stage"],
  { version, contentSha256: sha256, at }: { version: number; contentSha256: string; at: string },
): HashStage => ({ stage, version, sha256, at });

/** True if all have the same version and hash. */
export const isOneContent = (stages: readonly HashStage[]): boolean =>
  stages.every(({ version, sha256 }) => version === stages[0]?.version && sha256 === stages[0].sha256);
