import { interval } from 'd3-timer';
import { scaleLinear } from 'd3-scale';
export class Sparkline {
  constructor(document, parent, machine, values) {
    this.machine = machine;
    this.values = values;
    const x = scaleLinear([0, values.length - 1], [0, 200]), y = scaleLinear([0, 100], [40, 0]);
    this.svg = document.createElement('svg');
    values.forEach((v, i) => {
      const dot = document.createElement('circle');
      dot.setAttribute('cx', x(i)); dot.setAttribute('cy', y(v)); dot.setAttribute('class', 'dot');
      this.svg.appendChild(dot);
    });
    parent.appendChild(this.svg);
    interval(() => this.blink(), 30000);
  }
  blink() { this.svg.lastChild?.setAttribute('opacity', this.svg.lastChild.getAttribute('opacity') === '1' ? '0.4' : '1'); }
}
