import type { Handled, StreamServices } from "#src/commands/handle.ts";
import { streams } from "#streams/index.ts";

type DraftsService = StreamServices["drafts"];
type CommandWrapper = (run: () => Promise<Handled<never>>) => Promise<Handled<never>>;

/** Wraps every command to any stream in `around`; loading is unchanged. */
export function wrapCommands<Services extends StreamServices>(services: Services, around: CommandWrapper): Services {
  const wrapped = Object.keys(streams).map((noun) => {
    const service = services[noun as keyof StreamServices] as unknown as DraftsService;
    const handle = (...command: Parameters<DraftsService["handle"]>) =>
      around(() => service.handle(...command) as never);
    return [noun, { ...service, handle }];
  });
  return { ...services, ...Object.fromEntries(wrapped) };
}
