/** Our words for the ACP SDK hold against the real declarations; nothing here is run. */
import type * as acp from '@agentclientprotocol/sdk';
import type { AcpClient, AcpSdk } from '../../src/agent/acp/sdk.ts';

type Assert<Condition extends true> = Condition;
type Real = ReturnType<typeof acp.client>;

export type Stream = Assert<typeof acp.ndJsonStream extends AcpSdk['ndJsonStream'] ? true : false>;
export type Notified = Assert<
  Real['onNotification'] extends (...given: Parameters<AcpClient['onNotification']>) => unknown ? true : false
>;
export type Requested = Assert<
  Real['onRequest'] extends (...given: Parameters<AcpClient['onRequest']>) => unknown ? true : false
>;
export type Connected = Assert<
  ReturnType<Real['connect']> extends {
    closed: Promise<void>;
    close(): void;
    agent: { notify(method: string, params: unknown): Promise<void> };
  }
    ? true
    : false
>;
