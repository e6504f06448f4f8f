import { fileTypeFromBuffer } from "file-type";

/** What the library file-type knows bytes for: a usual ending in lower case, and a media type. */
export type LibraryKind = { ending: string; mediaType: string };

/** Looks at the beginning of a file; undefined for what it does not know, and for what it stumbles over. */
export async function libraryKind(beginning: Buffer): Promise<LibraryKind | undefined> {
  // It would unpack what is compressed, and so do a stranger's work: these bytes alone say that it is gzip.
  if (beginning[0] === 0x1f && beginning[1] === 0x8b) return { ending: "gz", mediaType: "application/gzip" };
  try {
    const found = await fileTypeFromBuffer(beginning);
    return found && { ending: found.ext, mediaType: found.mime };
  } catch {
    return undefined;
  }
}
