import { describeDifferential } from './differential.js';

describeDifferential(['fixed-window', 'sliding-window-log', 'sliding-window-counter']);
