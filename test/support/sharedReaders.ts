import { createReaderPool, type ReaderPool } from "#src/mail/in/readerPool.ts";

let readers: ReaderPool | undefined;

/** The threads that read mail, which take a second to start: the same for all services of this process, as long as it lives. */
export const sharedReaders = (): ReaderPool => (readers ??= createReaderPool());
