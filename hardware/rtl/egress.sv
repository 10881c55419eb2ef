// The way out of one port: takes the next frame from its queue, reads its cells, writes its headers anew, and keeps a few
// beats ready for the line. A frame is in service until its last cell finds room, and the next one comes while that is read.
module egress
  import pullnet_pkg::*;
#(
    parameter int W = 128,
    parameter int DEPTH = 64,  // beats that are kept ready
    parameter int BANKS = beats_of_cell(W)
) (
    input logic clk,
    input logic rst,
    input config_t cfg,
    // The queue: `next` and `done` come in its turn.
    output logic wants,
    input logic turn,
    output logic next,
    input logic next_valid,
    input frame_t frame,
    output logic done,
    output frame_t done_frame,
    // The packet memory: a cell begins in the cycle of its grant, one behind that of the request.
    output logic begin_request,
    output logic begin_again,  // the cell has one beat, and the next frame's first cell may begin right behind it
    input logic begin_grant,
    output logic [$clog2(BANKS)-1:0] read_bank,
    output cell_t read_cell,
    input logic [W-1:0] read_data,
    // Cells that are not needed any more.
    output logic release_valid,
    input logic release_ready,
    output release_t released,
    // The line.
    output logic tx_valid,
    input logic tx_ready,
    output logic [W-1:0] tx_data,
    output logic tx_last,
    output logic [$clog2(W/8)-1:0] tx_empty
);
  localparam int B = $clog2(BANKS);
  localparam int BYTES = W / 8;

  // The frame in service: there is none, it comes out of the queue, it waits behind the one that is read, or it is read.
  typedef enum logic [1:0] {NONE, COMING, WAITING, READ} service_t;
  service_t service;
  logic reading, move;       // cells of `held` are still to be asked for; the frame in service becomes `held`
  frame_t held, upcoming;
  logic [10:0] upcoming_beats;
  logic [10:0] beats_left;  // of the frame, from the cell on that is read next
  logic [3:0] number;       // that cell
  logic [B-1:0] bank, final_bank;
  logic read, busy, busy_last;  // a cell is being read; it is the frame's last one
  cell_t now_cell;
  logic [$clog2(DEPTH):0] room, room_then;
  logic last_cell, has_room, release_room;
  logic [B:0] cell_beats;

  assign cell_beats = last_cell ? (B + 1)'(beats_left) : (B + 1)'(BANKS);
  assign begin_request = reading && (!busy || bank == final_bank) && has_room
      && (!last_cell || release_room);
  assign room_then = room - (begin_grant ? ($clog2(DEPTH) + 1)'(cell_beats) : '0)
      + ($clog2(DEPTH) + 1)'(tx_valid && tx_ready);
  assign move = service == WAITING && (!reading || (begin_grant && last_cell));
  assign wants = service == NONE || (service == READ && last_cell && has_room);
  assign next = wants && turn;
  assign done = next && service == READ;
  assign done_frame = held;

  // Beats of a cell go one by one; the next cell may begin right behind the last of them.
  assign read = begin_grant || busy;
  assign read_bank = busy ? bank : '0;
  assign read_cell = busy ? now_cell : (number == 0 ? held.head : held.body + cell_t'(number) - 1'b1);

  always_ff @(posedge clk) begin
    if (rst) begin
      service <= NONE;
      reading <= 1'b0;
      busy <= 1'b0;
      room <= ($clog2(DEPTH) + 1)'(DEPTH);
      has_room <= 1'b1;
    end else begin
      case (service)
        NONE: if (next_valid) service <= COMING;
        COMING: service <= WAITING;
        WAITING: if (move) service <= READ;
        READ: if (done) service <= next_valid ? COMING : NONE;
      endcase
      reading <= move || (reading && !(begin_grant && last_cell));
      if (begin_grant) busy <= cell_beats != 1;
      else if (busy && bank == final_bank) busy <= 1'b0;
      room <= room_then;
      has_room <= room_then >= ($clog2(DEPTH) + 1)'(BANKS);
    end
    begin_again <= reading && last_cell && cell_beats == 1 && !begin_grant && service == WAITING
        && upcoming_beats > 11'(BANKS) && room_then > ($clog2(DEPTH) + 1)'(BANKS) && !rst;
    if (service == COMING) begin
      upcoming <= frame;
      upcoming_beats <= 11'((frame.len + len_t'(BYTES - 1)) / len_t'(BYTES));
    end
    if (move) begin
      held <= upcoming;
      beats_left <= upcoming_beats;
      last_cell <= upcoming_beats <= 11'(BANKS);
      number <= '0;
    end else if (begin_grant) begin
      // Nobody asks what is left behind the last cell.
      beats_left <= beats_left - 11'(BANKS);
      last_cell <= beats_left <= 11'(2 * BANKS);
      number <= number + 1'b1;
    end
    if (begin_grant) begin
      now_cell <= read_cell;
      bank <= B'(1);
      final_bank <= B'(cell_beats - 1'b1);
      busy_last <= last_cell;
    end else begin
      bank <= bank + 1'b1;
    end
  end

  // The cells come free as soon as the last one is being read: whoever writes them anew comes later.
  always_ff @(posedge clk) begin
    if (rst) release_valid <= 1'b0;
    else if (begin_grant && last_cell) release_valid <= 1'b1;
    else if (release_ready) release_valid <= 1'b0;
    if (begin_grant && last_cell)
      released <= '{held.head, held.body, 1'b1, held.has_body, held.shared};
  end
  assign release_room = !release_valid;

  // So many cycles later the beat is there.
  localparam int WAY = 5;
  logic [WAY-1:0] valid_way, last_way;
  logic reads_last;
  assign reads_last = begin_grant ? last_cell && cell_beats == 1 : busy_last && bank == final_bank;
  always_ff @(posedge clk) begin
    if (rst) valid_way <= '0;
    else valid_way <= {valid_way[WAY-2:0], read};
    last_way <= {last_way[WAY-2:0], reads_last};
  end

  logic out_valid, out_last, out_ready;
  logic [W-1:0] out_data;
  logic [$clog2(W/8)-1:0] out_empty;
  rewrite #(.W(W)) rewriter (
      .clk, .rst, .cfg, .load(begin_grant && number == 0), .frame(held),
      .in_valid(valid_way[WAY-1]), .in_data(read_data), .in_last(last_way[WAY-1]),
      .out_valid, .out_data, .out_last, .out_empty
  );
  deep_fifo #(.WIDTH(W + 1 + $clog2(W / 8)), .DEPTH(DEPTH)) ready_beats (
      .clk, .rst, .in_valid(out_valid), .in_ready(out_ready), .in_data({out_empty, out_last, out_data}),
      .out_valid(tx_valid), .out_ready(tx_ready), .out_data({tx_empty, tx_last, tx_data}), .waiting()
  );

`ifdef CHECKS
  always_ff @(posedge clk) if (!rst && out_valid) assert (out_ready);
`endif

`ifdef FORMAL_LARGE
  `include "egress_props.svh"
`endif
endmodule
