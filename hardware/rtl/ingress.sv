// The way in of one port: frames are read by the parser, wait in block RAM, and go to the packet memory cell by cell.
module ingress
  import pullnet_pkg::*;
#(
    parameter int W = 128,
    parameter int DEPTH = 256,  // beats that may wait
    parameter int CELLS = 64,  // cells that may wait
    parameter int TICKETS = 32,  // frames that may wait
    parameter int BANKS = beats_of_cell(W),
    parameter int BODY_CELLS = body_cells(W)
) (
    input logic clk,
    input logic rst,
    input config_t cfg,
    input logic rx_valid,
    output logic rx_ready,
    input logic [W-1:0] rx_data,
    input logic rx_last,
    input logic [$clog2(W/8)-1:0] rx_empty,
    input logic rx_wrong,
    // Free cells.
    output logic head_ready,
    input logic head_valid,
    input cell_t head_cell,
    output logic body_ready,
    input logic body_valid,
    input cell_t body_cell,
    // The packet memory: a cell begins in the cycle of its grant, one behind that of the request.
    output logic begin_request,
    output logic begin_again,  // the cell has one beat, and a cell waits that may begin right behind it
    input logic begin_grant,
    output cell_t write_cell,
    output logic [W-1:0] write_data,
    // Frames that are in the packet memory.
    output logic out_valid,
    input logic out_ready,
    output ticket_t out
);
  localparam int B = $clog2(BANKS);

  // Streams in, from a register.
  logic in_valid, in_ready, in_last, in_wrong;
  logic [W-1:0] in_data;
  logic [$clog2(W/8)-1:0] in_empty;
  skid #(.WIDTH(W + 2 + $clog2(W / 8))) register (
      .clk, .rst, .in_valid(rx_valid), .in_ready(rx_ready), .in_data({rx_wrong, rx_empty, rx_last, rx_data}),
      .out_valid(in_valid), .out_ready(in_ready), .out_data({in_wrong, in_empty, in_last, in_data})
  );

  // A frame is taken in only if its ticket will find room, so the parser needs no way to say stop. What says so comes from a
  // register, and what is taken goes into one: the beats on their way need room too.
  localparam int ON_THE_WAY = 4;
  logic [5:0] tickets;
  logic [$clog2(DEPTH):0] beats;
  logic [$clog2(CELLS):0] waiting;
  logic take, take_last, take_wrong;
  logic [W-1:0] take_data;
  logic [$clog2(W/8)-1:0] take_empty;
  always_ff @(posedge clk) begin
    in_ready <= tickets < 6'(TICKETS - 8) && beats < ($clog2(DEPTH) + 1)'(DEPTH - ON_THE_WAY)
        && waiting < ($clog2(CELLS) + 1)'(CELLS - ON_THE_WAY) && !rst;
    take <= in_valid && in_ready && !rst;
    {take_wrong, take_empty, take_last, take_data} <= {in_wrong, in_empty, in_last, in_data};
  end

  logic parsed_valid, parsed_ready, ticket_valid, ticket_pop;
  ticket_t parsed, ticket;
  parser #(.W(W)) parse (
      .clk, .rst, .cfg, .valid(take), .data(take_data), .last(take_last), .empty(take_empty), .wrong(take_wrong),
      .out_valid(parsed_valid), .out(parsed)
  );
  // In block RAM: two banks of LUT RAM with a multiplexer behind them are a fifth of this module.
  deep_fifo #(.WIDTH($bits(ticket_t)), .DEPTH(TICKETS)) ticket_fifo (
      .clk, .rst, .in_valid(parsed_valid), .in_ready(parsed_ready), .in_data(parsed),
      .out_valid(ticket_valid), .out_ready(ticket_pop), .out_data(ticket), .waiting()
  );

  logic beats_ready, beat_valid, beat_pop;
  deep_fifo #(.WIDTH(W), .DEPTH(DEPTH)) beat_fifo (
      .clk, .rst, .in_valid(take), .in_ready(beats_ready), .in_data(take_data),
      .out_valid(beat_valid), .out_ready(beat_pop), .out_data(write_data), .waiting(beats)
  );

  // A cell begins only when it waits whole: then one beat of it can be written in each cycle. How many beats it has is known
  // before it begins, so that the next one can be asked for before it ends.
  logic [B-1:0] in_bank, cell_behind, after;  // `after`: beats of the cell behind the one that is written
  logic cell_in, cell_ready, cell_valid, cell_ends_frame, starts;
  assign cell_in = take && (take_last || in_bank == B'(BANKS - 1));
  short_fifo #(.WIDTH(B + 1), .DEPTH(CELLS)) cell_fifo (
      .clk, .rst, .in_valid(cell_in), .in_ready(cell_ready), .in_data({take_last, in_bank}),
      .out_valid(cell_valid), .out_ready(starts), .out_data({cell_ends_frame, cell_behind}), .held(waiting)
  );

  logic cell_waits;  // the cell that is next was so in the cycle before
  logic busy, have_head, have_body, last_of_cell, ending, ends_frame, ends_frame_too, refused, body_used, more;
  logic [B-1:0] left;
  logic [4:0] number;  // cell of the frame
  cell_t head, spare, body;  // `spare`: the next frame's first cell, so that frames of one cell need not wait for theirs
  logic have_spare, placed_ready, too_long, place, asks, next_cell;
  logic [3:0] placed;

  assign too_long = number > 5'(BODY_CELLS);
  // The rest of a frame that is too long is read and thrown away. A cell waits for one cycle before: its last beat may have come
  // late, and is read from block RAM in the third cycle behind that.
  assign refused = !busy && !asks && !begin_grant && too_long && cell_valid && cell_waits && beat_valid;
  assign starts = begin_grant || refused;
  assign beat_pop = starts || busy;
  assign after = starts ? cell_behind : left;
  assign ends_frame = starts ? cell_ends_frame : ends_frame_too;
  assign last_of_cell = beat_pop && after == '0;
  assign place = last_of_cell && ends_frame;
  assign body_used = number != 0;
  assign write_cell = number == 0 ? head : body + cell_t'(number) - 1'b1;
  assign head_ready = !have_spare;
  assign body_ready = !have_body;

  // Asked from a register, and granted one cycle later: for a cell that may begin in the cycle after the next one. So it is
  // asked while the cell before has one more beat.
  assign ending = after <= B'(1);
  assign more = starts ? waiting > ($clog2(CELLS) + 1)'(1) : cell_valid;
  always_comb begin
    if (beat_pop && !ending) next_cell = 1'b0;
    else if (beat_pop) next_cell = ends_frame ? have_spare : have_body && number < 5'(BODY_CELLS);
    else if (number != 0) next_cell = have_body && !too_long;
    else next_cell = have_head;
  end
  assign begin_request = asks;

  always_ff @(posedge clk) begin
    if (rst) begin
      tickets <= '0;
      in_bank <= '0;
      busy <= 1'b0;
      number <= '0;
      asks <= 1'b0;
      have_head <= 1'b0;
      have_spare <= 1'b0;
      have_body <= 1'b0;
    end else begin
      tickets <= tickets + 6'(take && take_last) - 6'(ticket_pop);
      if (take) in_bank <= cell_in ? '0 : in_bank + 1'b1;
      busy <= beat_pop && !last_of_cell;
      if (place) number <= '0;
      else if (last_of_cell && !too_long) number <= number + 1'b1;
      asks <= (asks && !begin_grant) || (more && placed <= 4'd3 && next_cell);
      begin_again <= !starts && !place && cell_valid && cell_behind == '0 && waiting > ($clog2(CELLS) + 1)'(1) && have_spare
          && placed <= 4'd3;
      if (place) have_head <= have_spare || head_valid;
      else have_head <= have_head || head_valid;
      have_spare <= have_head && !place && (have_spare || head_valid);
      have_body <= have_body ? !(place && body_used) : body_valid;
    end
  end
  always_ff @(posedge clk) begin
    cell_waits <= cell_valid && !starts;
    left <= after - 1'b1;
    ends_frame_too <= ends_frame;
    if (place || !have_head) head <= have_spare ? spare : head_cell;
    if (!have_spare) spare <= head_cell;
    if (body_ready) body <= body_cell;
  end

  // Where frames lie, until their tickets are there.
  logic placed_valid;
  cell_t placed_head, placed_body;
  logic placed_has_body;
  short_fifo #(.WIDTH(21), .DEPTH(8)) placed_fifo (
      .clk, .rst, .in_valid(place), .in_ready(placed_ready), .in_data({head, body, body_used}),
      .out_valid(placed_valid), .out_ready(ticket_pop), .out_data({placed_head, placed_body, placed_has_body}), .held(placed)
  );

  assign out_valid = placed_valid && ticket_valid;
  assign ticket_pop = out_valid && out_ready;
  always_comb begin
    out = ticket;
    out.frame.head = placed_head;
    out.frame.body = placed_body;
    out.frame.has_body = placed_has_body;
  end

`ifdef CHECKS
  always_ff @(posedge clk) begin
    if (!rst && parsed_valid) assert (parsed_ready);
    if (!rst && place) assert (placed_ready);
    if (!rst && take) assert (beats_ready);
    if (!rst && beat_pop) assert (beat_valid);
    if (!rst && cell_in) assert (cell_ready);
    if (!rst && begin_grant) assert (asks && !busy && cell_valid && (number == 0 ? have_head : have_body));
  end
`endif
`ifdef FORMAL_LARGE
  `include "ingress_props.svh"
`endif
endmodule
