/** A stage for a real agent and the scripted model it asks: both are made anew with what the model is to say. */
import { afterEach, beforeEach } from 'vitest';
import type { TurnRequest } from '../src/agent/agent.ts';
import type { AgentUnderTest } from '../src/agent/contract.ts';
import type { AgentPolicy } from '../src/core/policy.ts';
import type { SandboxKind } from '../src/core/role.ts';
import { criticReportSchema } from '../src/core/verdict.ts';
import { agentStage } from '../test/support/agent-stage.ts';
import type { Scenario } from '../test/support/llm/scenario.ts';
import { type Asides, type Llm, startLlm } from '../test/support/llm/server.ts';

export const CRITIC: Partial<TurnRequest> = { role: 'critic', outputSchema: criticReportSchema() };

export const replies = (...given: Scenario['rules'][number]['replies']): Scenario => ({
  rules: [{ replies: given }],
});

/** `how` is what a test may choose beside the scenario: the operator's variables, a wire, a preset. */
export async function realStage<How extends unknown[]>(
  make: (llm: Llm, ...how: How) => { real: AgentUnderTest; policy: Partial<AgentPolicy> },
  usual: How,
  asides: Asides = 'scripted',
  sandbox: SandboxKind = 'none',
) {
  const llm = { now: await startLlm({ rules: [] }) };
  let made = make(llm.now, ...usual);
  const stage = agentStage(
    {
      get agent() {
        return made.real.agent;
      },
      performing: async () => made.policy,
    },
    sandbox,
  );
  const { watched } = stage;

  const scripted = async (scenario: Scenario, ...how: How): Promise<void> => {
    await llm.now.close();
    llm.now = await startLlm(scenario, { asides });
    made = make(llm.now, ...how);
  };
  beforeEach(() => scripted({ rules: [] }, ...usual));
  afterEach(() => llm.now.close());

  return {
    ...stage,
    llm,
    real: () => made.real,
    scripted,
    run: async (prompt: string, change: Partial<TurnRequest> = {}, watching = watched()) => {
      const turn = await stage.turnOf([], { ...change, prompt });
      return { turn, result: await made.real.agent.run(turn, watching.hooks), ...watching };
    },
  };
}
