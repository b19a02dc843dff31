import { ACP_MODEL, realAcp } from './acp.ts';
import { moneyContract, priced } from './money.ts';
import { opencodeModel, realOpencode } from './opencode.ts';

moneyContract('opencode', (llm) => ({
  real: realOpencode(llm, 'messages'),
  policy: priced(opencodeModel('messages')),
}));
moneyContract('acp, opencode', (llm) => ({
  real: realAcp(llm, 'opencode'),
  policy: { preset: 'opencode', ...priced(ACP_MODEL.opencode) },
}));
