/** Draws who sits where, and how ready each is. */

import { drawRows, fromTemplate, part, setText } from "../elements.js";
import { formatCount } from "../format.js";
import { seatTicks, tickText } from "./words.js";

/** @typedef {import("./types.js").Seat} Seat */
/** @typedef {import("./types.js").Speech} Speech */

/**
 * @template {Seat} AnySeat
 * @param {Element} place
 * @param {readonly AnySeat[]} seats
 * @param {Speech} speech
 * @param {(row: HTMLElement, seat: AnySeat) => void} [drawMore] what a page shows of a seat beside that
 */
export function drawSeats(place, seats, speech, drawMore = () => {}) {
  const { t, language } = speech;
  drawRows(place, seats, {
    keyOf: (seat) => String(seat.seat),
    make: () => fromTemplate(document, "seat-template"),
    draw: (row, seat) => {
      const isTaken = seat.name !== "";
      row.dataset.state = !isTaken ? "empty" : seat.ready ? "ready" : "waiting";
      setText(part(row, "number"), formatCount(seat.seat, language));
      setText(part(row, "name"), isTaken ? seat.name : t("seat.empty"));
      setText(part(row, "model"), seat.model ?? "");
      drawTicks(part(row, "ticks"), isTaken ? seatTicks(seat, speech) : []);
      drawMore(row, seat);
    },
  });
}

/**
 * @param {Element} place
 * @param {import("./words.js").Tick[]} ticks
 */
function drawTicks(place, ticks) {
  drawRows(
    place,
    ticks.map((tick, index) => ({ ...tick, index })),
    {
      keyOf: ({ index }) => String(index),
      make: () => document.createElement("li"),
      draw: (item, tick) => {
        item.dataset.state = tick.state;
        setText(item, tickText(tick));
      },
    },
  );
}
