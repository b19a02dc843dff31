/**
 * Channels: ways to tell people. A new one is one file here, its word in `CHANNEL_KINDS` (core/tell/notify.ts), and its constructor in
 * `openTools()` (main.ts); its test calls the contract.
 *
 * Titles and texts of notices come from strangers. They have no control characters and are short, but each channel escapes what
 * its service would take for markup or for a mention, and cuts what its service would refuse.
 */
import type { ChannelKind, ChannelPolicy, Message } from '../core/tell/notify.ts';
import type { LaunchRequest } from '../process/process.ts';

/** `retryAt`: when its service said it may be asked again. The words never have a secret in them. */
export type Sent = { kind: 'sent' } | { kind: 'failed'; why: string; retryAt: number | null };

export interface SendOptions {
  /** Aborted, it has not been sent as far as anybody knows. */
  signal: AbortSignal;
  /** Makes a child's record durable before it is let go. */
  onHeld: LaunchRequest['onHeld'];
}

export interface Channel {
  readonly kind: ChannelKind;
  /** What keeps it from being used with these settings, in words, or null. Sends nothing. */
  problem(channel: ChannelPolicy): Promise<string | null>;
  /** Sends the message once, within `SEND_TIMEOUT_MS`; the same message again where an answer was lost. May throw. */
  send(message: Message, channel: ChannelPolicy, options: SendOptions): Promise<Sent>;
}

export const SEND_TIMEOUT_MS = 15_000;

/** All channels, by the kind that a policy names. */
export interface Channels {
  problem(channel: ChannelPolicy): Promise<string | null>;
  /** Never throws. */
  send(message: Message, channel: ChannelPolicy, options: SendOptions): Promise<Sent>;
}
