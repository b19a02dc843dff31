import { opencodeModel, opencodeOperator } from './opencode.ts';
import { realStory } from './story.ts';

realStory({ kind: 'opencode', model: opencodeModel('messages'), env: opencodeOperator });
