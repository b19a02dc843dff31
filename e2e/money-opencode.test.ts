import type { Llm } from '../test/support/llm/server.ts';
import { ACP_MODEL, realAcp } from './acp.ts';
import { moneyContract, type Paid, priced } from './money.ts';
import { opencodeModel, realOpencode } from './opencode.ts';
import { withBubblewrap } from './with-bubblewrap.ts';

const AGENTS: Record<string, (llm: Llm) => Paid> = {
  opencode: (llm) => ({ real: realOpencode(llm, 'messages'), policy: priced(opencodeModel('messages')) }),
  'acp, opencode': (llm) => ({
    real: realAcp(llm, 'opencode'),
    policy: { preset: 'opencode', ...priced(ACP_MODEL.opencode) },
  }),
};

for (const [name, make] of Object.entries(AGENTS)) moneyContract(name, make);

withBubblewrap(() => {
  for (const [name, make] of Object.entries(AGENTS)) moneyContract(name, make, 'bwrap');
});
