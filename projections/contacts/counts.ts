import type { Counts } from "../counts.ts";

/** How many contacts a workspace has of each status. */
export const contactCounts: Counts = { table: "contact_counts", dimensions: ["workspace_id", "status"] };

/** How many contacts of a workspace have a tag. */
export const tagCounts: Counts = { table: "contact_tag_counts", dimensions: ["workspace_id", "tag"] };
