// Packet memory, shared by all ports. A cell lies across BANKS banks, one beat in each; whoever begins a cell in one
// cycle is at bank 0 then, at bank 1 in the next, and so on. So one writer and one reader may begin in each cycle, and
// nobody meets another one on the way: four ports of 10 Gb/s write and read side by side without a common wide bus.
module cells
  import pullnet_pkg::*;
#(
    parameter int W = 128,
    parameter int PORTS = 4,
    parameter int CELLS = 1024,
    parameter int BANKS = beats_of_cell(W)
) (
    input logic clk,
    input logic [PORTS-1:0] write_begins,  // at most one
    input cell_t [PORTS-1:0] write_cell,
    input logic [PORTS-1:0][W-1:0] write_data,  // then, and in the BANKS - 1 cycles that follow
    input logic [PORTS-1:0] read_begins,
    input cell_t [PORTS-1:0] read_cell,
    input logic [PORTS-1:0][$clog2(BANKS)-1:0] read_bank,  // where a port is
    output logic [PORTS-1:0][W-1:0] read_data  // five cycles later
);
  localparam int A = $clog2(CELLS);
  localparam int P = $clog2(PORTS);
  logic [BANKS-1:0][W-1:0] bank_out;
  logic [PORTS-1:0][$clog2(BANKS)-1:0] from1, from2;
  // What ports ask for, from registers.
  logic begins;
  logic [PORTS-1:0][$clog2(BANKS)-1:0] reads_bank;
  cell_t [PORTS-1:0] writes_cell, reads_cell;
  logic [PORTS-1:0][W-1:0] writes_data;
  // By bank: the port that is there, and the cell. Both go from bank to bank. The rest of a cell that does not fill it
  // is written with what comes then, and never read.
  logic [BANKS-1:0][P-1:0] writer;
  logic [P-1:0] reader;
  logic [BANKS-1:0] write1;
  logic [BANKS-1:0][A-1:0] write_at1, read_at1;
  function automatic logic [P-1:0] number(input logic [PORTS-1:0] one);
    number = '0;
    for (int p = 0; p < PORTS; p++) if (one[p]) number |= P'(p);
  endfunction
  always_ff @(posedge clk) begin
    begins <= write_begins != 0;
    writer <= {writer[BANKS-2:0], number(write_begins)};
    reader <= number(read_begins);
    writes_cell <= write_cell;
    writes_data <= write_data;
    reads_bank <= read_bank;
    reads_cell <= read_cell;
    write1 <= {write1[BANKS-2:0], begins};
    write_at1 <= {write_at1[BANKS-2:0], writes_cell[writer[0]][A-1:0]};
    read_at1 <= {read_at1[BANKS-2:0], reads_cell[reader][A-1:0]};
  end

  for (genvar b = 0; b < BANKS; b++) begin : bank
    logic [W-1:0] words[CELLS];
    logic [W-1:0] data1, bank_word;
    always_ff @(posedge clk) data1 <= writes_data[writer[b]];
    always_ff @(posedge clk) begin
      if (write1[b]) words[write_at1[b]] <= data1;
      bank_word <= words[read_at1[b]];
      // Block RAM gives a word late in the cycle.
      bank_out[b] <= bank_word;
    end
  end

  // The bank that a port has read, as one bit: two sources fit each LUT.
  logic [PORTS-1:0][BANKS-1:0] from3;
  logic [PORTS-1:0][W-1:0] chosen;
  always_comb begin
    chosen = '0;
    for (int p = 0; p < PORTS; p++)
      for (int b = 0; b < BANKS; b++) chosen[p] |= {W{from3[p][b]}} & bank_out[b];
  end
  always_ff @(posedge clk) begin
    from1 <= reads_bank;
    from2 <= from1;
    for (int p = 0; p < PORTS; p++) for (int b = 0; b < BANKS; b++) from3[p][b] <= int'(from2[p]) == b;
    read_data <= chosen;
  end
endmodule
