import { EventEmitter } from 'node:events';
import { onDeparture } from '../../src/transports/departures.js';

describe('onDeparture', () => {
  const socket = (destroyed = false) => Object.assign(new EventEmitter(), { destroyed });

  it('tells all who wait, by one listener, so that Node warns of no leak', () => {
    const connection = socket();
    const told: number[] = [];

    for (let n = 0; n < 20; n++) onDeparture(connection, 'close', () => told.push(n));
    expect(connection.listenerCount('close')).toBe(1);
    connection.emit('close');

    expect(told).toHaveLength(20);
  });

  it('tells nobody who has stopped listening', () => {
    const connection = socket();
    const told: string[] = [];

    const stop = onDeparture(connection, 'close', () => told.push('stopped'));
    onDeparture(connection, 'close', () => told.push('waiting'));
    stop();
    connection.emit('close');

    expect(told).toEqual(['waiting']);
  });

  it('tells at once of a connection that has gone already', () => {
    const told: string[] = [];

    onDeparture(socket(true), 'close', () => told.push('gone'));

    expect(told).toEqual(['gone']);
  });

  it('never tells where there is no connection', () => {
    expect(onDeparture(undefined, 'close', () => undefined)()).toBeUndefined();
  });
});
