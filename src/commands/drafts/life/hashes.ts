import type { DraftLife } from "./life.ts";

/** A point at which a content hash was recorded: stage, version and ISO time. */
export type HashStage = { stage: "approved" | "queued" | "handed over"; version: number; sha256: string; at: string };

/** Returns the content hashes recorded from the approval to the hand-over. A draft that was not handed over has fewer stages. */
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

/** Returns true if all stages have the same version and the same hash. */
export const isOneContent = (stages: readonly HashStage[]): boolean =>
  stages.every(({ version, sha256 }) => version === stages[0]?.version && sha256 === stages[0].sha256);
