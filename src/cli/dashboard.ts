/** `dashboard`: the HTTP server alone, until it is interrupted. */
import { UserError } from '../errors.ts';
import type { Session } from './commands.ts';
import { untilInterrupted } from './terminal.ts';

const USUAL_PORT = 8088;

export async function serveDashboard({ context, terminal }: Session, port: number | null): Promise<number> {
  await context.refuseInTurn('dashboard');
  const { server: configured } = (await context.settings()).settings.workflow;
  const asked = port ?? configured.port ?? USUAL_PORT;
  const stop = untilInterrupted();
  const server = await context.server(asked).catch((problem: NodeJS.ErrnoException) => {
    if (problem instanceof UserError) throw problem;
    const why = problem.code === 'EADDRINUSE' ? 'another process has the port' : problem.message;
    throw new UserError(
      `Can't listen on port ${asked}: ${why}.`,
      'A runner may serve the dashboard there already. Else give another `--port`.',
    );
  });
  const { url, link } = server!;
  terminal.printLink(terminal.json ? JSON.stringify({ url, link }) : `Dashboard at ${link} (Ctrl-C ends it)`);
  if (!stop.aborted) await new Promise((done) => stop.addEventListener('abort', done, { once: true }));
  await server!.close();
  return 0;
}
