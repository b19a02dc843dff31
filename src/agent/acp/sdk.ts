/**
 * What we use of the Agent Client Protocol's SDK, in our own words: only who drives an agent through it needs the package,
 * so it is the user's to install. `npm run test:agents` holds this file against the real declarations.
 */
import { installHint } from '../install-hint.ts';

const ACP_PACKAGE = '@agentclientprotocol/sdk';
/** The version these words were learned from and are tested with. */
const ACP_VERSION = '2.4.0';
export const PROTOCOL_VERSION = 1;

export interface AcpSdk {
  client(options: { name: string }): AcpClient;
  ndJsonStream(
    output: WritableStream<Uint8Array>,
    input: ReadableStream<Uint8Array>,
    options: { maxMessageBytes: number },
  ): unknown;
}

export interface AcpClient {
  onNotification(method: string, params: Parser, handler: (context: { params: unknown }) => void): AcpClient;
  onRequest(method: string, params: Parser, handler: (context: { params: unknown }) => unknown): AcpClient;
  connect(stream: never): AcpConnection;
}

/** We read messages ourselves, so that one with a field we do not know ends no conversation. */
type Parser = (params: unknown) => unknown;

export interface AcpConnection {
  readonly agent: {
    request(method: string, params: unknown): Promise<unknown>;
    notify(method: string, params: unknown): Promise<void>;
  };
  readonly closed: Promise<void>;
  close(): void;
}

/** Rejects, with what to install, when it is not there. */
export async function loadAcp(): Promise<AcpSdk> {
  try {
    return (await import(ACP_PACKAGE)) as AcpSdk;
  } catch (error) {
    throw new Error(
      `the agent \`acp\` needs ${ACP_PACKAGE}, which is not installed beside forge-loop: ${installHint([`${ACP_PACKAGE}@${ACP_VERSION}`])} (about 9 MB)`,
      { cause: error },
    );
  }
}
