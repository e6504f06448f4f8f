import { Readable } from "node:stream";
import { finished } from "node:stream/promises";
import { ZipFile } from "yazl";
import type { EvidenceFile } from "#src/commands/audit/draftEvidence.ts";
import { type Reply, reply } from "../framework/reply.ts";
import { fileHeaders } from "../present/files.ts";

type Archive = { files: AsyncIterable<EvidenceFile>; filename: string; mtime: Date };

/** Answers with a ZIP archive as a download. Each file is made when the client has read those before it. */
export function archiveReply({ files, filename, mtime }: Archive): Reply {
  const zip = new ZipFile();
  const stream = zip.outputStream as Readable;
  addAll(zip, { files, mtime }).catch((error) => stream.destroy(error));
  return reply({ stream, headers: fileHeaders({ contentType: "application/zip", filename }) });
}

async function addAll(zip: ZipFile, { files, mtime }: Pick<Archive, "files" | "mtime">): Promise<void> {
  for await (const { name, bytes } of files) {
    const content = Readable.from([bytes], { objectMode: false });
    zip.addReadStream(content, name, { mtime });
    await finished(content);
  }
  zip.end();
}
