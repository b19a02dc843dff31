import { scratch } from '../../../test/support/local-people.ts';
import { forgeContract } from '../contract.ts';

forgeContract('local', () => scratch());
