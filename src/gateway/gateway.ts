/**
 * The way out of a turn or a command, and the only one that a confined program has: a server of the loop's own. It holds
 * the credentials, meters on the wire what models are asked for, and lets through what was granted and nothing else.
 *
 * A door is for one turn or one command: who comes through it is known by the door.
 */
import type { UsageReport } from '../agent/agent.ts';
import type { Network } from '../core/access/network.ts';
import type { SecretPolicy } from '../core/access/secret.ts';
import type { Room } from '../core/money/budget.ts';
import type { Usage } from '../core/money/prices.ts';
import type { Way } from '../core/role.ts';
import type { WireName } from './wires.ts';

export interface Gateway {
  /** Rejects, in words for a person, when a secret can't be had, or can't be held: then nothing is to be started. */
  open(passage: Passage): Promise<Door>;
  /** Null when it can be had; else why not. */
  secretProblem(secret: SecretPolicy): Promise<string | null>;
}

export interface Passage {
  /** `inside`: at a socket that a sandbox shows to one command alone. `machine`: on loopback, under a name that can't be guessed. */
  at: 'inside' | 'machine';
  /** Where else it leads; on the machine's own network nobody needs it for that. */
  network: Exclude<Network, 'host'>;
  /** What whoever comes through may use, at the hosts of each and without knowing it. Only `inside`. */
  secrets?: readonly SecretPolicy[];
  /** What to do about a host that is refused. */
  advice: string;
  /** Nothing that listens inside is reached from outside. */
  isOneWay?: true;
  /** Told once, when it is over. */
  onRequest?(request: NetworkRequest): void;
}

export interface NetworkRequest {
  /** Who was asked for. What is no host is cut and freed of control characters, and has the port 0. */
  host: string;
  port: number;
  /** `failed`: it was allowed, but there was no connection, or no answer. */
  verdict: 'allowed' | 'refused' | 'failed';
  /** Null when it ended as both sides wanted. */
  why: string | null;
  /** To the host and from it, heads of plain requests included. */
  sentBytes: number;
  receivedBytes: number;
}

export interface Door {
  /** What a sandbox makes a command's way out; null on the machine's own network. */
  way: Way | null;
  /** The provider's new address, for a program that asks a model. */
  route(route: Route): string;
  /** Where a port that something inside listens on is reached from outside. */
  reach(port: number): Promise<number>;
  /** Nothing goes through any more, and all of it was told. */
  close(): Promise<void>;
}

/** How the keys of what was counted on the wire begin, in the ledger. */
export const METERED = 'wire:';

/** What a provider called its answer, of such a key; null when it told no name. */
export const answerIdOf = (key: string): string | null =>
  /^wire:\w+:\d+:(.+)$/.exec(key.replace(/:end$/, ''))?.[1] ?? null;

/** How a program reaches its model's provider. */
export interface Route {
  /** Whose budget it is. */
  task: string;
  /** What its provider is asked in; nothing else is passed on. */
  speaks: readonly WireName[];
  /** Where the provider is. */
  upstream: string;
  /** What proves who pays, in place of what the program sent. */
  headers: Readonly<Record<string, string>>;
  /** By the words they are chosen with, as `sonnet` or a model's whole name. */
  models: 'any' | readonly string[];
  /** Whether the provider may go elsewhere for it: fetch, search, ask other servers. */
  isOpen: boolean;
  costOf(model: string, usage: Usage): number | null;
  /** What it may cost at the most, its price known or not. */
  mostOf(model: string, usage: Usage): number;
  /** Asked before each call. */
  room(): Promise<Room>;
  onUsage(report: UsageReport): void;
  /** A call that the provider took, or may have taken, and whose usage it did not tell in full. */
  onUntold(): void;
  /** The provider's answer to a call has ended: null when it was one, else what was said instead. */
  onAnswered?(refused: Refused | null): void;
  /** A call that was not passed on. */
  onRefused(refusal: Refusal): void;
}

/** By the provider. */
export interface Refused {
  status: number;
  /** As far as anybody reads it. */
  body: string;
  /** Those that tell of limits, in lower case. */
  headers: Readonly<Record<string, string>>;
}

export interface Refusal {
  /** `untold`: what is left of the budget may have been used by calls that did not tell. */
  reason: 'budget' | 'untold' | 'model' | 'path' | 'setting' | 'errand';
  why: string;
  /** Where an errand would have led, if it is known. */
  url?: string | null;
}
