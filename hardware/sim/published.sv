// A model of the switch that was published for the NetFPGA: four input queues of 36 Kbit, an arbiter, and one bus of 256 bits
// that carries one frame after the other. A frame takes a cycle for every 32 B of it, and `overhead` cycles more: none in the
// reference switch, one in the NDP switch, whose state machine is not fully pipelined. It knows lengths and no bytes.
module published #(
    parameter int PORTS = 4,
    parameter int BEATS = 144     // 36 Kbit in beats of 256 bits
) (
    input logic clk,
    input logic rst,
    input logic [6:0] overhead,
    input logic [12:0] quantum,   // bytes that a port may send in its turn; 0: one frame (plain round robin)
    input logic [PORTS-1:0] arrives,
    input logic [PORTS-1:0][10:0] len,
    output logic [PORTS-1:0] lost,
    output logic [PORTS-1:0] served,
    output logic busy
);
  localparam int SLOTS = 128;
  logic [10:0] lens[PORTS][SLOTS];
  logic [PORTS-1:0][6:0] head, tail;
  logic [PORTS-1:0][7:0] used, frames;
  logic [PORTS-1:0][12:0] credit;
  logic [1:0] turn;
  logic [6:0] left;  // cycles of the frame on the bus
  logic [10:0] first;

  function automatic logic [7:0] beats(input logic [10:0] bytes);
    beats = 8'((12'(bytes) + 12'd31) >> 5);
  endfunction

  assign first = lens[turn][head[turn]];
  assign busy = left > 1;
  always_comb begin
    for (int p = 0; p < PORTS; p++) lost[p] = arrives[p] && 32'(used[p]) + 32'(beats(len[p])) > BEATS;
  end

  // Whose turn it is next: one decision in each cycle in which the bus is free, all ports looked at together.
  logic [1:0] next_turn;
  logic found, stays;
  always_comb begin
    stays = frames[turn] != 0 && quantum != 0 && credit[turn] >= 13'(first);
    next_turn = turn;
    found = stays;
    for (int n = 1; n <= PORTS; n++) begin
      if (!found && frames[2'(32'(turn) + n)] != 0) begin
        next_turn = 2'(32'(turn) + n);
        found = 1'b1;
      end
    end
  end

  always_ff @(posedge clk) begin
    served <= '0;
    if (rst) begin
      head <= '0;
      tail <= '0;
      used <= '0;
      frames <= '0;
      credit <= '0;
      turn <= '0;
      left <= '0;
    end else begin
      for (int p = 0; p < PORTS; p++) begin
        if (arrives[p] && !lost[p]) begin
          lens[p][tail[p]] <= len[p];
          tail[p] <= tail[p] + 1'b1;
          used[p] <= used[p] + beats(len[p]);
          frames[p] <= frames[p] + 1'b1;
        end
      end
      if (busy) left <= left - 1'b1;
      else begin
        left <= '0;
        if (found) begin
          turn <= next_turn;
          left <= 7'(beats(lens[next_turn][head[next_turn]])) + overhead;
          head[next_turn] <= head[next_turn] + 1'b1;
          used[next_turn] <= used[next_turn] - beats(lens[next_turn][head[next_turn]])
              + (arrives[next_turn] && !lost[next_turn] ? beats(len[next_turn]) : '0);
          frames[next_turn] <= frames[next_turn] - 1'b1
              + 8'(arrives[next_turn] && !lost[next_turn]);
          credit[next_turn] <= (stays ? credit[next_turn] : quantum)
              - 13'(lens[next_turn][head[next_turn]]);
          served[next_turn] <= 1'b1;
        end
      end
    end
  end
endmodule
