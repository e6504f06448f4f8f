import { addAbortSignal, Readable } from "node:stream";
import { finished } from "node:stream/promises";
import { ZipFile } from "yazl";
import type { EvidenceFile } from "#src/commands/audit/draftEvidence.ts";
import { type Reply, reply } from "../framework/reply.ts";
import { fileHeaders } from "../present/files.ts";

type Archive = {
  files: AsyncIterable<EvidenceFile>;
  filename: string;
  mtime: Date;
  headers?: Record<string, string>;
  /** Called when the archive has been read, or its reader has gone. */
  onClose?: () => void;
  /** Breaks the archive off when it is aborted. */
  until?: AbortSignal;
};

/** Answers with a ZIP archive as a download. Each file is made when the client has read those before it. */
export function archiveReply({ filename, headers, onClose, until, ...archive }: Archive): Reply {
  const stream = archiveOf(archive);
  if (onClose) stream.once("close", onClose);
  if (until) addAbortSignal(until, stream);
  return reply({ stream, headers: { ...fileHeaders({ contentType: "application/zip", filename }), ...headers } });
}

/** Returns a stream with a ZIP archive. If a file fails, the stream does; if the stream is destroyed, no more files are made. */
export function archiveOf(archive: Pick<Archive, "files" | "mtime">): Readable {
  const zip = new ZipFile();
  const stream = zip.outputStream as Readable;
  const fail = (error: Error): unknown => stream.destroy(error);
  zip.on("error", fail);
  addAll(zip, archive).catch(fail);
  return stream;
}

async function addAll(zip: ZipFile, { files, mtime }: Pick<Archive, "files" | "mtime">): Promise<void> {
  const stream = zip.outputStream as Readable;
  for await (const { name, bytes } of files) {
    if (stream.destroyed) return;
    const content = Readable.from(bytes instanceof Buffer ? [bytes] : bytes);
    const end = (): unknown => content.destroy();
    stream.once("close", end);
    zip.addReadStream(content, name, { mtime });
    await finished(content);
    stream.off("close", end);
  }
  zip.end();
}
