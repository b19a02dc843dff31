import { askAhead } from './ahead.ts';

askAhead();
void import('./whole.tsx');
